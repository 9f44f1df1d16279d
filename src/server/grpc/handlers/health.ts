import { TritonError } from '../../../base/error.js';
import { toBinary } from '../../../protocol/proto/codec.js';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  ModelReadyRequest,
  ModelReadyResponse,
  ServerLiveRequest,
  ServerLiveResponse,
  ServerReadyRequest,
  ServerReadyResponse,
  ServingStatus,
} from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { encodedMethod } from '../message/respond.js';

/** ServerLive. */
export function serverLive({ engine }: ServerContext): GrpcMethod {
  return encodedMethod(ServerLiveRequest, () => toBinary(ServerLiveResponse, { live: engine.isLive() }));
}

/** ServerReady. */
export function serverReady({ engine }: ServerContext): GrpcMethod {
  return encodedMethod(ServerReadyRequest, async () =>
    toBinary(ServerReadyResponse, { ready: await engine.isReady() }),
  );
}

/** ModelReady: false for what is unknown or not ready; only a version that is not a number is an error. */
export function modelReady({ engine }: ServerContext): GrpcMethod {
  return encodedMethod(ModelReadyRequest, async ({ name, version }) => {
    let ready = false;
    try {
      ready = await engine.isModelReady(name, version);
    } catch (reason) {
      const error = TritonError.from(reason);
      if (error.code !== 'NOT_FOUND' && error.code !== 'UNAVAILABLE') throw error;
    }
    return toBinary(ModelReadyResponse, { ready });
  });
}

/** grpc.health.v1.Health/Check: the server's readiness, whatever the service name. */
export function healthCheck({ engine }: ServerContext): GrpcMethod {
  return encodedMethod(HealthCheckRequest, async () => {
    const { SERVING = 1, NOT_SERVING = 2 } = ServingStatus.values;
    return toBinary(HealthCheckResponse, { status: (await engine.isReady()) ? SERVING : NOT_SERVING });
  });
}
