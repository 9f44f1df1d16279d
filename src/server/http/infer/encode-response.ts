/** Response of the engine -> body of an infer response over HTTP. */

import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse } from '../../../contract/request.js';
import { BodyBuilder } from '../../../protocol/infer/body-builder.js';
import { jsonParameters } from '../../../protocol/infer/write-parameters.js';
import { jsonString } from '../../../protocol/json/write-json.js';
import { writeTensorData } from '../../../protocol/json/write-tensor-data.js';
import { atOnce, type Steps } from '../../../protocol/steps.js';
import { toOutputFormSteps } from '../../infer/encode-output.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';

/** A response ready to be sent. */
export interface HttpInferResponse {
  readonly contentType: string;
  /** Value of `Inference-Header-Content-Length`; undefined when the body is JSON alone. */
  readonly headerLength: number | undefined;
  readonly chunks: Uint8Array[];
  readonly byteLength: number;
}

/** Encodes a response in the forms that the request asked for. Throws what a form may raise (FP16 as JSON, ...). */
export function encodeHttpInferResponse(
  response: InferenceResponse,
  decoded: DecodedInferRequest,
  model: ReadyModel,
): HttpInferResponse {
  return atOnce(encodeHttpInferResponseSteps(response, decoded, model));
}

/** The same in steps: only large JSON and large classifications take more than one. */
export function* encodeHttpInferResponseSteps(
  response: InferenceResponse,
  decoded: DecodedInferRequest,
  model: ReadyModel,
): Steps<HttpInferResponse> {
  const body = new BodyBuilder();
  if (response.id !== '') body.text(`{"id":${jsonString(response.id)},"model_name":`);
  else body.text('{"model_name":');
  body.text(`${jsonString(response.modelName)},"model_version":${jsonString(response.modelVersion)}`);
  if (response.parameters.length > 0) body.text(`,"parameters":${jsonParameters(response.parameters)}`);
  body.text(',"outputs":[');
  let first = true;
  for (const output of response.outputs) {
    const { form, tensor, data } = yield* toOutputFormSteps(output, decoded, model);
    body.text(
      `${first ? '' : ','}{"name":${jsonString(tensor.name)},"datatype":"${tensor.datatype}","shape":[${tensor.shape.join(',')}]`,
    );
    first = false;
    if (data === undefined) body.text('}');
    else if (form.binary) {
      body.text(`,"parameters":{"binary_data_size":${data.length}}}`);
      body.blob(data);
    } else {
      body.text(',"data":');
      yield* writeTensorData(tensor, body);
      body.text('}');
    }
  }
  body.text(']}');
  return body.finish();
}
