import type { ReadyModel } from '../../engine/engine-api.js';
import { toBinary } from '../../protocol/proto/codec.js';
import { ModelConfigRequest, ModelConfigResponse } from '../../protocol/proto/service.js';
import type { GrpcMethod } from '../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../server-context.js';
import { encodedMethod } from './respond.js';

/** ModelConfig: the completed configuration, encoded once per model. */
export function modelConfig({ engine }: ServerContext): GrpcMethod {
  const known = new WeakMap<ReadyModel, Uint8Array>();
  return encodedMethod(ModelConfigRequest, ({ name, version }) => {
    const model = engine.model(name, version);
    let answer = known.get(model);
    if (answer === undefined) {
      answer = toBinary(ModelConfigResponse, { config: model.config });
      known.set(model, answer);
    }
    return answer;
  });
}
