import type { ReadyModel } from '../../../contract/engine.js';
import { toBinary } from '../../../protocol/proto/codec.js';
import {
  ModelMetadataRequest,
  ModelMetadataResponse,
  ServerMetadataRequest,
  ServerMetadataResponse,
} from '../../../protocol/proto/service/service.js';
import type { TensorMetadata } from '../../../protocol/tensor.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { exactShape } from '../../infer/exact-shape.js';
import { encodedMethod } from '../message/respond.js';

/** ServerMetadata: encoded once. */
export function serverMetadata({ metadata }: ServerContext): GrpcMethod {
  const answer = toBinary(ServerMetadataResponse, { ...metadata, extensions: [...metadata.extensions] });
  return encodedMethod(ServerMetadataRequest, () => answer);
}

/** ModelMetadata: encoded once per model and list of versions. */
export function modelMetadata({ engine }: ServerContext): GrpcMethod {
  const known = new WeakMap<ReadyModel, { key: string; answer: Uint8Array }>();
  return encodedMethod(ModelMetadataRequest, ({ name, version }) => {
    const model = engine.model(name, version);
    const versions = version === '' ? [...engine.readyVersions(name)] : [model.version];
    const key = versions.join();
    let entry = known.get(model);
    if (entry?.key !== key) {
      entry = {
        key,
        answer: toBinary(ModelMetadataResponse, {
          name: model.name,
          versions,
          platform: model.platform,
          inputs: tensors(model.inputs, model.config.input),
          outputs: tensors(model.outputs, model.config.output),
        }),
      };
      known.set(model, entry);
    }
    return entry.answer;
  });
}

function tensors(
  list: readonly TensorMetadata[],
  configured: Parameters<typeof exactShape>[1],
): { name: string; datatype: string; shape: bigint[] }[] {
  return list.map((tensor) => ({
    name: tensor.name,
    datatype: tensor.datatype,
    shape: exactShape(tensor, configured),
  }));
}
