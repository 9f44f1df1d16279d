import { GrpcStatus } from '../../protocol/error.js';
import { HEALTH_CHECK_PATH, SERVICE_PATH } from '../../protocol/proto/service.js';
import type { GrpcMethod } from '../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../context/server-context.js';
import type { RestrictedCategory, Restrictions } from '../options/server-options.js';
import { modelConfig } from './handlers/config.js';
import { healthCheck, modelReady, serverLive, serverReady } from './handlers/health.js';
import { modelInfer } from './handlers/infer.js';
import { modelStreamInfer } from './handlers/infer-stream.js';
import { logSettings } from './handlers/logging.js';
import { modelMetadata, serverMetadata } from './handlers/metadata.js';
import { REFLECTION_PATHS, serverReflection } from './handlers/reflection.js';
import { repositoryIndex, repositoryModelLoad, repositoryModelUnload } from './handlers/repository.js';
import { sharedMemoryMethods } from './handlers/shared-memory.js';
import { modelStatistics } from './handlers/statistics.js';
import { traceSetting } from './handlers/trace.js';

/** Every method of a server by its full path, restrictions applied, and what a stop has to tell them. */
export interface GrpcMethods {
  readonly byPath: ReadonlyMap<string, GrpcMethod>;
  shutdown(): void;
}

/** Makes the methods of one server. */
export function grpcMethods(context: ServerContext): GrpcMethods {
  const stream = modelStreamInfer(context);
  const byCategory: Readonly<Record<RestrictedCategory, Readonly<Record<string, GrpcMethod>>>> = {
    health: {
      ServerLive: serverLive(context),
      ServerReady: serverReady(context),
      ModelReady: modelReady(context),
    },
    metadata: { ServerMetadata: serverMetadata(context), ModelMetadata: modelMetadata(context) },
    inference: { ModelInfer: modelInfer(context), ModelStreamInfer: stream.method },
    'shared-memory': sharedMemoryMethods(context),
    'model-config': { ModelConfig: modelConfig(context) },
    'model-repository': {
      RepositoryIndex: repositoryIndex(context),
      RepositoryModelLoad: repositoryModelLoad(context),
      RepositoryModelUnload: repositoryModelUnload(context),
    },
    statistics: { ModelStatistics: modelStatistics(context) },
    trace: { TraceSetting: traceSetting(context) },
    logging: { LogSettings: logSettings(context) },
  };
  const { restrictions } = context.options.grpc;
  const byPath = new Map<string, GrpcMethod>();
  for (const [category, methods] of Object.entries(byCategory) as [RestrictedCategory, Record<string, GrpcMethod>][]) {
    for (const [name, method] of Object.entries(methods)) {
      byPath.set(SERVICE_PATH + name, restricted(method, category, restrictions));
    }
  }
  byPath.set(HEALTH_CHECK_PATH, restricted(healthCheck(context), 'health', restrictions));
  const reflection = serverReflection();
  if (context.options.grpc.reflection) {
    for (const path of REFLECTION_PATHS) byPath.set(path, restricted(reflection.method, 'metadata', restrictions));
  }
  return {
    byPath,
    shutdown() {
      stream.shutdown();
      reflection.shutdown();
    },
  };
}

/** The method behind the check of its restriction (spec: wire protocol, section 1.6). */
function restricted(method: GrpcMethod, category: RestrictedCategory, restrictions: Restrictions): GrpcMethod {
  const rule = restrictions.get(category);
  if (rule === undefined) return method;
  const name = `triton-grpc-protocol-${rule.key}`;
  const refusal = `This protocol is restricted, expecting header '${name}'`;
  if (method.kind === 'unary') {
    return {
      kind: 'unary',
      handle(call, message) {
        if (call.metadata(name) === rule.value) method.handle(call, message);
        else call.finish(GrpcStatus.UNAVAILABLE, refusal);
      },
    };
  }
  return {
    kind: 'stream',
    open(call) {
      if (call.metadata(name) === rule.value) return method.open(call);
      call.finish(GrpcStatus.UNAVAILABLE, refusal);
      return { onMessage() {}, onHalfClose() {} };
    },
  };
}
