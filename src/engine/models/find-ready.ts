import { TritonError } from '../../protocol/error.js';
import type { ModelRecord } from './model-record.js';
import type { LoadedModel } from './version/loaded-model.js';

/** The READY version that a request means (`version` '' = the latest); undefined when there is none. */
export function findReady(record: ModelRecord | undefined, version: string): LoadedModel | undefined {
  if (record === undefined) return undefined;
  return version === '' ? record.ready.at(-1) : record.ready.find((model) => model.version === version);
}

/** Like `findReady`, but throws the error that a request for the version gets. `record`: that of the model `name`. */
export function requireReady(record: ModelRecord | undefined, name: string, version: string): LoadedModel {
  const found = findReady(record, version);
  if (found !== undefined) return found;
  const unknown = `Request for unknown model: '${name}'`;
  if (record === undefined) throw new TritonError('NOT_FOUND', `${unknown} is not found`);
  if (version === '') throw new TritonError('NOT_FOUND', `${unknown} has no available versions`);
  if (record.find(version) === undefined) {
    throw new TritonError('NOT_FOUND', `${unknown} version ${version} is not found`);
  }
  throw new TritonError('UNAVAILABLE', `${unknown} version ${version} is not at ready state`);
}
