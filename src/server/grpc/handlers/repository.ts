import { invalidArg, TritonError } from '../../../base/error.js';
import {
  RepositoryIndexRequest,
  RepositoryIndexResponse,
  RepositoryModelLoadRequest,
  RepositoryModelLoadResponse,
  RepositoryModelUnloadRequest,
  RepositoryModelUnloadResponse,
} from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { unaryMethod } from '../message/respond.js';

function refuseRepositoryName(name: string): void {
  if (name !== '') throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
}

/** RepositoryIndex. */
export function repositoryIndex({ engine }: ServerContext): GrpcMethod {
  return unaryMethod(RepositoryIndexRequest, RepositoryIndexResponse, async ({ repository_name, ready }) => {
    refuseRepositoryName(repository_name);
    return {
      models: (await engine.index(ready)).map(({ name, version = '', state = '', reason = '' }) => ({
        name,
        version,
        state,
        reason,
      })),
    };
  });
}

/** RepositoryModelLoad: responds when the load has ended. */
export function repositoryModelLoad({ engine }: ServerContext): GrpcMethod {
  return unaryMethod(RepositoryModelLoadRequest, RepositoryModelLoadResponse, async (request) => {
    refuseRepositoryName(request.repository_name);
    let config: string | undefined;
    const files = new Map<string, Uint8Array>();
    for (const [key, value] of request.parameters) {
      if (key === 'config') {
        if (value.string_param === undefined) {
          throw invalidArg("invalid value type for load parameter 'config', expected string_param.");
        }
        config = value.string_param;
      } else if (key.startsWith('file:')) {
        if (value.bytes_param === undefined) {
          throw invalidArg(`invalid value type for load parameter '${key}', expected bytes_param.`);
        }
        files.set(key.slice(5), value.bytes_param);
      } else {
        throw invalidArg(`unrecognized load parameter '${key}'.`);
      }
    }
    await engine.load(request.model_name, {
      ...(config === undefined ? {} : { config }),
      ...(files.size === 0 ? {} : { files }),
    });
    return {};
  });
}

/** RepositoryModelUnload: responds when the versions have stopped being served. */
export function repositoryModelUnload({ engine }: ServerContext): GrpcMethod {
  return unaryMethod(RepositoryModelUnloadRequest, RepositoryModelUnloadResponse, async (request) => {
    refuseRepositoryName(request.repository_name);
    const dependents = request.parameters.get('unload_dependents');
    if (dependents !== undefined && dependents.bool_param === undefined) {
      throw invalidArg("invalid value type for 'unload_dependents' parameter, expected bool_param.");
    }
    await engine.unload(request.model_name, dependents?.bool_param ?? false);
    return {};
  });
}
