import type { RemoteRepository } from '../../../repository/stores/remote-repository.js';

/** A model in one of the repositories. */
export interface ModelPlace {
  /** What logs and tables call it: its name, with --model-namespacing `<repository>::<name>`. */
  readonly id: string;
  readonly name: string;
  /** Path of its repository with --model-namespacing, else ''. */
  readonly namespace: string;
  /** `<repository>/<model>`, or the directory of the files that came with a load call. */
  readonly directory: string;
  /** Where its files have to be fetched from; absent = `directory` is on this machine. */
  readonly remote?: RemoteRepository;
}

/** The id of a model in a namespace. */
export function modelId(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}::${name}`;
}
