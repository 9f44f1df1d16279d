import { atProcessEnd } from '../../base/process-end.js';
import { type InferenceServerClient, type InferInput, SharedMemoryObject } from '../../client/index.js';
import { elementSize } from '../../protocol/datatype.js';
import { messageOf } from '../error/message-of.js';
import { PerfError } from '../error/perf-error.js';
import { elementsOf, type InputData } from '../input/input-data.js';
import type { PerfModel, PerfTensor } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { LoadSetup } from './load-messages.js';
import { inputRegion, outputRegion } from './region-names.js';
import { RequestMaker } from './request-maker.js';

/** Bytes of the region of an output: what its shape needs, or what the user says where that is not known. */
export function outputBytes(output: PerfTensor, options: PerfOptions): number {
  const elements = output.datatype === 'BYTES' ? undefined : elementsOf(output);
  const each = elements === undefined ? options.input.outputSharedMemorySize : elements * elementSize(output.datatype);
  return Math.max(1, options.input.batchSize) * each;
}

/**
 * The shared memory of a run: a region for every output and for every batch of every input, registered with the server.
 * `close` takes all of it away again.
 */
export class PerfRegions {
  readonly #client: InferenceServerClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #objects: SharedMemoryObject[] = [];
  #forgetExit = (): void => {};
  readonly #onExit = (): void => {
    for (const object of this.#objects.splice(0)) object.destroy();
  };

  private constructor(client: InferenceServerClient, headers: Readonly<Record<string, string>>) {
    this.#client = client;
    this.#headers = headers;
  }

  /** Makes, fills and registers the regions. Throws what ends the run: no memory, or a server that refuses. */
  static async open(
    client: InferenceServerClient,
    options: PerfOptions,
    model: PerfModel,
    setup: LoadSetup,
  ): Promise<PerfRegions> {
    const { data } = setup;
    checkOptionalInputs(model, data);
    const regions = new PerfRegions(client, setup.headers);
    // Objects have names in the whole machine: they must not outlive this process.
    regions.#forgetExit = atProcessEnd(regions.#onExit);
    try {
      await regions.#unregister().catch(() => {});
      for (const output of model.outputs) await regions.#add(outputRegion(output.name), outputBytes(output, options));
      const maker = new RequestMaker({ ...setup, sharedMemory: false });
      for (const input of model.inputs) {
        for (const [stream, steps] of data.streams.entries()) {
          for (const step of steps.keys()) {
            const bytes = dataOf(maker.inputs(stream, step), input.name);
            await regions.#add(inputRegion(input.name, stream, step), bytes.length, bytes);
          }
        }
      }
      return regions;
    } catch (reason) {
      await regions.close(() => {});
      throw new PerfError(`error: Unable to init infer data manager: ${messageOf(reason)}`, { emptyLines: 2 });
    }
  }

  /** Unregisters everything and removes the objects; `warn` gets what did not work. */
  async close(warn: (line: string) => void): Promise<void> {
    await this.#unregister().catch(() => warn('Unable to unregister all shared memory regions'));
    for (const object of this.#objects.splice(0)) {
      try {
        object.destroy();
      } catch {
        warn(`Unable to unlink shared memory with key: ${object.key}`);
      }
    }
    this.#forgetExit();
  }

  async #add(name: string, byteSize: number, content?: Uint8Array): Promise<void> {
    // A run that was killed may have left an object of that name.
    const object = SharedMemoryObject.create(name, `/${name}`, Math.max(1, byteSize), { replace: true });
    this.#objects.push(object);
    if (content !== undefined) object.set([content]);
    const { key } = object;
    await this.#client.control.registerSystemSharedMemory({ name, key, offset: 0, byteSize }, this.#callOptions());
  }

  async #unregister(): Promise<void> {
    const { control } = this.#client;
    await control.unregisterSystemSharedMemory('', this.#callOptions());
    await control.unregisterCudaSharedMemory('', this.#callOptions());
  }

  #callOptions(): { readonly headers: Readonly<Record<string, string>> } {
    return { headers: this.#headers };
  }
}

function checkOptionalInputs(model: PerfModel, data: InputData): void {
  const complete = data.streams.every((steps) => steps.every((step) => step.inputs.length === model.inputs.length));
  if (complete) return;
  throw new PerfError(
    'error: Unable to init infer data manager: Shared memory support in Perf Analyzer does not support optional inputs at this time',
    { emptyLines: 2 },
  );
}

function dataOf(inputs: readonly InferInput[], name: string): Uint8Array {
  const data = inputs.find((input) => input.name === name)?.data;
  if (data === undefined) throw new Error(`unable to find data for input '${name}'.`);
  return data;
}
