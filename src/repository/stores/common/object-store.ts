/** What a model repository needs of an object store: listing and reading. One implementation per kind of store. */
import type { Readable } from 'node:stream';

/** An object of a store. */
export interface StoredObject {
  /** Whole name within its bucket or container. */
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Changes with the content: entity tag or generation, as the store gives it. */
  readonly version: string;
}

/** What lies under a prefix. */
export interface StoreListing {
  /** With `folders`: those right under the prefix; else all below it. Markers of directories (`a/`) are objects too. */
  readonly objects: readonly StoredObject[];
  /** Names of directories right under the prefix, without slashes. */
  readonly folders: readonly string[];
}

/** A location in an object store. */
export interface ObjectStore {
  /** Key of the repository's directory: '' or `a/b`, without a slash at the end. */
  readonly root: string;
  /** Environment variable that names the directory into which models are fetched. */
  readonly mountVariable: string;
  /** Rejects with Triton's text when the bucket cannot be listed: it does not exist, wrong credentials. */
  check(): Promise<void>;
  /** Lists a prefix ('' or ending in a slash), in any number of pages. `folders`: only one level. */
  list(prefix: string, folders: boolean): Promise<StoreListing>;
  /** Bytes of an object as they are stored. Rejects when it is no longer the version that was listed. */
  read(object: StoredObject): Promise<Readable>;
}

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;
