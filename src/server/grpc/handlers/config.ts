import { toBinary } from '../../../protocol/proto/codec.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { ModelConfigRequest, ModelConfigResponse } from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { encodedMethod } from '../message/respond.js';

/** ModelConfig: the completed configuration, encoded once. A change of the instances makes another. */
export function modelConfig({ engine }: ServerContext): GrpcMethod {
  const known = new WeakMap<ModelConfig, Uint8Array>();
  return encodedMethod(ModelConfigRequest, ({ name, version }) => {
    const { config } = engine.model(name, version);
    let answer = known.get(config);
    if (answer === undefined) {
      answer = toBinary(ModelConfigResponse, { config });
      known.set(config, answer);
    }
    return answer;
  });
}
