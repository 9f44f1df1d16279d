import type { InferInput, InferRequestedOutput, InferResult } from '../../../src/client/api/client.js';
import type { Ask } from './ask.js';
import { difference, numbersOf, stringsOf } from './values.js';

/** How a kind's requests travel. */
export type Transport = 'json' | 'binary' | 'pipelined' | 'grpc' | 'stream';

/** A kind of request, and how many connections carry it by which transport. */
export interface Kind {
  readonly name: string;
  readonly lanes: Readonly<Partial<Record<Transport, number>>>;
  /** Requests on a connection at a time, where its transport allows several; default 4. */
  readonly depth?: number;
  /** Requests of a lane follow each other: one at a time. */
  readonly needsPython?: boolean;
  /** A maker of requests for one lane. */
  lane(): Maker;
}

/** Makes the requests of one lane. */
export interface Maker {
  make(token: number, json: boolean): Ask;
  /** Whether the last request needs others behind it: a sequence that has begun has to end, or it keeps its slot. */
  midway(): boolean;
}

const never = (): boolean => false;

const OUT = (result: InferResult): Uint8Array | undefined => result.output('OUT')?.data;

interface Form {
  readonly model: string;
  readonly text?: boolean;
  /** Elements of a row, and rows, of the request with this number. */
  size(token: number): readonly [rows: number, columns: number];
  /** What the model adds in its response with this index. */
  plus?(index: number): number;
  readonly responses?: number;
  /** The number that makes the values, where it is not the request's own: those of a cache come again. */
  value?(token: number): number;
}

function asks(
  name: string,
  { model, text = false, size, plus = () => 0, responses = 1, value = (token) => token }: Form,
): Kind['lane'] {
  return () => ({
    midway: never,
    make: (token, json) => {
      const [rows, columns] = size(token);
      const data = text ? stringsOf(value(token), rows * columns) : numbersOf(value(token), rows * columns);
      const inputs: InferInput[] = [{ name: 'IN', datatype: text ? 'BYTES' : 'INT32', shape: [rows, columns], data }];
      return {
        token,
        kind: name,
        json,
        responses,
        got: 0,
        call: { modelName: model, id: String(token), inputs },
        check: (result, index) =>
          difference(OUT(result), plus(index) === 0 ? data : numbersOf(value(token), rows * columns, plus(index))),
      };
    },
  });
}

const small = (token: number): readonly [number, number] => [1 + (token % 4), 4 + (token % 3)];
const middle = (token: number): readonly [number, number] => [1 + (token % 2), 1000 + (token % 1000)];
/** 64 KB and more. */
const large = (token: number): readonly [number, number] => [1, 16384 + (token % 7) * 4096];

/** Sequences of eight requests each, whose responses are the sums so far. */
function sums(name: string, model: string): Kind['lane'] {
  return () => {
    let step = 0;
    let sequence = 0;
    let total = new Int32Array(4);
    return {
      midway: () => step !== 0,
      make: (token, json) => {
        if (step === 0) {
          sequence = token;
          total = new Int32Array(4);
        }
        const data = numbersOf(token, 4);
        total = total.map((sum, i) => (sum + new Int32Array(data.buffer)[i]!) | 0);
        const expected = new Uint8Array(total.slice().buffer);
        const [sequenceStart, sequenceEnd] = [step === 0, step === 7];
        step = (step + 1) % 8;
        return {
          token,
          kind: name,
          json,
          responses: 1,
          got: 0,
          call: {
            modelName: model,
            id: String(token),
            inputs: [{ name: 'IN', datatype: 'INT32', shape: [1, 4], data }],
            sequenceId: sequence,
            sequenceStart,
            sequenceEnd,
          },
          check: (result) => difference(OUT(result), expected),
        };
      },
    };
  };
}

/** A range of shared memory that one lane writes its input to and reads its output from. */
export interface Slot {
  readonly region: string;
  readonly inputAt: number;
  readonly outputAt: number;
  write(bytes: Uint8Array): void;
  read(length: number): Uint8Array;
}

/** Elements of a tensor in shared memory, at most. */
export const SLOT_BYTES = 4 * 32768;

/** Tensors in shared memory; the response holds none, the region all. */
export function sharedMemoryLane(slot: Slot): Maker {
  return {
    midway: never,
    make: (token, json) => {
      const columns = token % 5 === 0 ? 30000 : 10 + (token % 500);
      const data = numbersOf(token, columns);
      const byteSize = data.length;
      slot.write(data);
      const at = (offset: number): InferRequestedOutput['sharedMemory'] => ({ region: slot.region, byteSize, offset });
      return {
        token,
        kind: 'shared memory',
        json,
        responses: 1,
        got: 0,
        call: {
          modelName: 'wide',
          id: String(token),
          inputs: [{ name: 'IN', datatype: 'INT32', shape: [1, columns], sharedMemory: at(slot.inputAt)! }],
          outputs: [{ name: 'OUT', sharedMemory: at(slot.outputAt)! }],
        },
        check: () => difference(slot.read(byteSize), data),
      };
    },
  };
}

/** Every kind but shared memory, which needs a slot for each lane. */
export const KINDS: readonly Kind[] = [
  {
    name: 'small numbers',
    lanes: { json: 150, binary: 100, pipelined: 60, grpc: 40, stream: 40 },
    lane: asks('small numbers', { model: 'wide', size: small }),
  },
  {
    name: 'large numbers',
    lanes: { json: 1, binary: 10, pipelined: 4, grpc: 10, stream: 6 },
    depth: 2,
    lane: asks('large numbers', { model: 'wide', size: large }),
  },
  {
    name: 'small texts',
    lanes: { json: 60, binary: 60, pipelined: 20, grpc: 20, stream: 20 },
    lane: asks('small texts', { model: 'texts', text: true, size: small }),
  },
  {
    name: 'batched numbers',
    lanes: { json: 60, binary: 60, pipelined: 30, grpc: 30, stream: 20 },
    lane: asks('batched numbers', { model: 'numbers', size: (token) => [1 + (token % 4), 6] }),
  },
  {
    name: 'batched middle',
    lanes: { binary: 20, grpc: 10, stream: 10 },
    lane: asks('batched middle', { model: 'numbers', size: (token) => [middle(token)[0], 1500] }),
  },
  {
    name: 'batched texts',
    lanes: { json: 30, binary: 30, pipelined: 10, grpc: 20, stream: 10 },
    lane: asks('batched texts', { model: 'strings', text: true, size: (token) => [1 + (token % 4), 3] }),
  },
  {
    name: 'ensemble',
    lanes: { json: 20, binary: 20, grpc: 10, stream: 10 },
    lane: asks('ensemble', { model: 'naming_chain', size: (token) => [1 + (token % 3), 5] }),
  },
  {
    name: 'cache',
    lanes: { json: 20, binary: 20, grpc: 20 },
    lane: asks('cache', { model: 'cached', size: () => [2, 50], value: (token) => 1 + (token % 997) }),
  },
  {
    name: 'sequences direct',
    lanes: { json: 8, grpc: 8, stream: 8 },
    depth: 1,
    lane: sums('sequences direct', 'sums_direct'),
  },
  {
    name: 'sequences oldest',
    lanes: { json: 8, binary: 8, grpc: 8 },
    depth: 1,
    lane: sums('sequences oldest', 'sums_oldest'),
  },
  {
    name: 'python threads',
    needsPython: true,
    lanes: { binary: 8, grpc: 8 },
    depth: 3,
    lane: asks('python threads', {
      model: 'python_threads',
      size: (token) => (token % 3 === 0 ? large(token) : small(token)),
      plus: () => 7,
    }),
  },
  {
    name: 'python decoupled',
    needsPython: true,
    lanes: { stream: 10 },
    depth: 3,
    lane: asks('python decoupled', {
      model: 'python_decoupled',
      size: (token) => (token % 3 === 0 ? large(token) : small(token)),
      plus: (index) => index + 1,
      responses: 4,
    }),
  },
  {
    name: 'python calls',
    needsPython: true,
    lanes: { json: 4, grpc: 8 },
    depth: 3,
    lane: asks('python calls', {
      model: 'python_calls',
      size: (token) => (token % 3 === 0 ? large(token) : [1, 8]),
      plus: () => 11,
    }),
  },
];
