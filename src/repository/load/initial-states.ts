/** Initial data of sequence states. */

import { TritonError } from '../../base/error.js';
import { MAX_DATA_BYTES } from '../../base/files/read-regular-file.js';
import { type Fault, faultOf } from '../../contract/fault.js';
import { datatypeOfConfigValue, elementSize } from '../../protocol/datatype.js';
import type { ModelConfig, ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import { joinPath, readTextFile } from '../files/local.js';
import { staysInside } from './stays-inside.js';

type State = ModelSequenceBatching['state'][number];
type InitialState = State['initial_state'][number];

/** Directory of a model that holds the data files. */
const FOLDER = 'initial_state';

/** What the sequence scheduler refuses, state by state. */
export async function initialStateFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const faults: Fault[] = [];
  const withInitialState = new Set<string>();
  for (const [i, state] of (config.sequence_batching?.state ?? []).entries()) {
    const [initial] = state.initial_state;
    if (initial === undefined) continue;
    const path = ['sequence_batching', 'state', i, 'initial_state'];
    try {
      checkInitialState(state, initial, withInitialState);
      await initialData(modelDirectory, state, initial);
    } catch (reason) {
      faults.push(faultOf(reason, 'initial-state', path));
    }
    withInitialState.add(state.input_name);
  }
  return faults;
}

/**
 * Initial data of the states by the names of their inputs; a state without an entry begins with zeros. Throws the
 * TritonError that `initialStateFaults` gives as a fault.
 */
export async function readInitialStates(modelDirectory: string, config: ModelConfig): Promise<Map<string, Uint8Array>> {
  const result = new Map<string, Uint8Array>();
  const withInitialState = new Set<string>();
  for (const state of config.sequence_batching?.state ?? []) {
    const [initial] = state.initial_state;
    if (initial === undefined) continue;
    checkInitialState(state, initial, withInitialState);
    const data = await initialData(modelDirectory, state, initial);
    if (data !== undefined) result.set(state.input_name, data);
    withInitialState.add(state.input_name);
  }
  return result;
}

function checkInitialState(state: State, initial: InitialState, taken: ReadonlySet<string>): void {
  const input = state.input_name;
  if (state.initial_state.length > 1) {
    throw refuse(
      `initial_state field for state input '${input}' must contain exactly one or zero element. Found '${state.initial_state.length}' elements.`,
    );
  }
  if (initial.data_type !== state.data_type) {
    throw refuse(
      `The data type used for 'initial_state' field of state '${input}' does not match the state data type.`,
    );
  }
  if (initial.name === '') {
    throw refuse(`Field 'name' must be set when using initial_state for state input '${input}'.`);
  }
  if (taken.has(input)) throw refuse(`State input name '${input}' specified more than once.`);
  if (initial.dims.length !== state.dims.length) {
    throw refuse(
      `Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '${input}'. ${initial.dims.length} != ${state.dims.length}`,
    );
  }
  for (const [i, dim] of initial.dims.entries()) {
    const wanted = state.dims[i] as bigint;
    if (dim === -1n) {
      throw refuse(`'initial_state' field for state input name '${input}' contains variable dimensions.`);
    }
    if (wanted !== -1n && dim !== wanted) {
      throw refuse(
        `'initial_state' dim for input name '${input}' doesn't match 'state' dim description. ${dim} != ${wanted}`,
      );
    }
  }
}

/** Content of the state's file; undefined for zeros. */
async function initialData(
  modelDirectory: string,
  state: State,
  initial: InitialState,
): Promise<Uint8Array | undefined> {
  if (initial.data_file === undefined) {
    if (initial.zero_data !== undefined) return undefined;
    throw refuse(`initial_state setting expects state'${state.input_name}' to have state_data set`);
  }
  if (!staysInside(initial.data_file, FOLDER)) {
    const text = `initial_state data file '${initial.data_file}' of state '${state.input_name}'`;
    throw refuse(`${text} is outside the model directory`);
  }
  const data = await readTextFile(joinPath(modelDirectory, FOLDER, initial.data_file), MAX_DATA_BYTES);
  const datatype = datatypeOfConfigValue(initial.data_type);
  if (datatype === undefined || datatype === 'BYTES') return data;
  const needed = initial.dims.reduce((product, dim) => product * dim, BigInt(elementSize(datatype)));
  if (BigInt(data.length) < needed) {
    throw refuse(
      `initial_state setting expects ${needed} bytes, but the data provided from ${initial.data_file}only has ${data.length} bytes.`,
    );
  }
  return data;
}

function refuse(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}
