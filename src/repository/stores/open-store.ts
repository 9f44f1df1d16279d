/** Opens object stores; the code of a kind of store is loaded when a path of it is given. */
import type { Environment, ObjectStore } from './common/object-store.js';
import { storeScheme } from './common/store-path.js';

/** The store of a path such as `s3://bucket/models`. Throws Triton's texts for paths and credentials. */
export async function openStore(path: string, environment: Environment = process.env): Promise<ObjectStore> {
  switch (storeScheme(path)) {
    case 's3':
      return await (await import('./s3/s3-store.js')).openS3Store(path, environment);
    case 'gs':
      return await (await import('./gs/gs-store.js')).openGsStore(path, environment);
    case 'as':
      return await (await import('./as/as-store.js')).openAsStore(path, environment);
    case undefined:
      throw new Error(`'${path}' is in no object store`);
  }
}
