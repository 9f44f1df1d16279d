/** Which repository paths lie in object stores. */

/** The kinds of object stores, by the prefix of their paths. */
export type StoreScheme = 'gs' | 's3' | 'as';

/** The kind of store that a path names; undefined for a local path. The prefix is compared with its case. */
export function storeScheme(path: string): StoreScheme | undefined {
  return /^(gs|s3|as):\/\//.exec(path)?.[1] as StoreScheme | undefined;
}
