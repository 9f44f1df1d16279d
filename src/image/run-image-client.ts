import { writeFile } from 'node:fs/promises';
import { TritonError } from '../base/error.js';
import { systemText } from '../base/files/system-text.js';
import { versionLine } from '../base/package.js';
import type { InferenceServerClient, InferResult } from '../client/api/client.js';
import { createClient } from '../client/create-client.js';
import { describeCall, imageBatches, requestOf } from './build-requests.js';
import { ImageClientFailure } from './failure.js';
import { type ImagePath, listImages, readImage } from './image-files.js';
import { type ImageModel, imageModel } from './model-input.js';
import { type ImageClientOptions, imageHelp, readOptions } from './options.js';
import { preprocess } from './preprocess.js';
import { formatResult } from './print-result.js';
import { sendRequests } from './send-requests.js';

/** Where the image client writes. */
export interface ImageClientOutput {
  write(text: string | Uint8Array): unknown;
}

/**
 * Classifies images with a model on a server and prints the best classes of each, as Triton's image_client does.
 * Resolves to the exit status: 0, or 1 after a line on stderr.
 */
export async function runImageClient(
  args: readonly string[],
  stdout: ImageClientOutput,
  stderr: ImageClientOutput,
): Promise<number> {
  const options = readOptions(args);
  if ('message' in options) {
    stderr.write(options.message + (options.showUsage ? `${imageHelp()}\n` : ''));
    return 1;
  }
  if ('kind' in options) {
    stdout.write(options.kind === 'help' ? imageHelp() : versionLine());
    return 0;
  }
  if (options.protocol === 'grpc' && Object.keys(options.headers).length > 0) {
    stderr.write('WARNING: HTTP headers specified with -H are ignored when using non-HTTP protocol.\n');
  }
  let client: InferenceServerClient | undefined;
  try {
    client = await openClient(options);
    await classify(client, options, stdout, stderr);
    return 0;
  } catch (reason) {
    if (!(reason instanceof ImageClientFailure)) throw reason;
    stderr.write(`${reason.message}\n`);
    return 1;
  } finally {
    await client?.close();
  }
}

async function openClient({ protocol, url }: ImageClientOptions): Promise<InferenceServerClient> {
  try {
    return await createClient({ protocol, url });
  } catch (reason) {
    throw new ImageClientFailure(`error: unable to create client for inference: ${TritonError.from(reason).message}`);
  }
}

async function classify(
  client: InferenceServerClient,
  options: ImageClientOptions,
  stdout: ImageClientOutput,
  stderr: ImageClientOutput,
): Promise<void> {
  const model = await fetchModel(client, options, stderr);
  const files = await listImages(options.path);
  const inputs = await preprocessAll(files, model, options);
  const batches = imageBatches(files.length, options.batchSize);
  const calls = batches.map((batch, i) =>
    requestOf(
      String(i),
      batch.map((index) => inputs[index] as Uint8Array),
      model,
      options,
    ),
  );
  if (options.verbose) for (const call of calls) stdout.write(`inference request: ${describeCall(call)}\n`);
  const results = await sendRequests(client, calls, options);
  for (const [i, batch] of batches.entries()) {
    stdout.write(`Request ${i}, batch size ${options.batchSize}\n`);
    stdout.write(
      formatResult(results[i] as InferResult | TritonError, {
        output: model.outputName,
        batched: model.maxBatchSize > 0,
        classes: options.classes,
        files: batch.map((index) => files[index] as ImagePath),
      }),
    );
  }
}

/** Fetches metadata and configuration; a call that fails is reported, and the checks then find what is missing. */
async function fetchModel(
  client: InferenceServerClient,
  { model, version, batchSize, protocol, headers }: ImageClientOptions,
  stderr: ImageClientOutput,
): Promise<ImageModel> {
  const report = (what: string) => (reason: unknown) => {
    stderr.write(`error: failed to get model ${what}: ${TritonError.from(reason).message}\n`);
    return undefined;
  };
  const metadata = await client.modelMetadata(model, version, { headers }).catch(report('metadata'));
  const config = await client.modelConfig(model, version, { headers }).catch(report('config'));
  return imageModel(metadata, config, { model, batchSize, protocol });
}

async function preprocessAll(
  files: readonly ImagePath[],
  { image: shape }: ImageModel,
  { scaling, preprocessedFile }: ImageClientOptions,
): Promise<Uint8Array[]> {
  const inputs: Uint8Array[] = [];
  for (const file of files) {
    const image = await readImage(file);
    if (shape.channels !== 1 && shape.channels !== 3) {
      throw new ImageClientFailure(
        `unexpected number of channels ${image.channels} in input image, model expects ${shape.channels}.`,
      );
    }
    if (shape.width <= 0 || shape.height <= 0) {
      throw new ImageClientFailure(
        `unable to resize image ${file} to ${shape.width} x ${shape.height}: the model's input size is not fixed`,
      );
    }
    const input = preprocess(image, shape, scaling);
    if (inputs.length === 0 && preprocessedFile !== undefined) await writePreprocessed(preprocessedFile, input);
    inputs.push(input);
  }
  return inputs;
}

async function writePreprocessed(file: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(file, bytes);
  } catch (reason) {
    throw new ImageClientFailure(`error: unable to write preprocessed image to ${file}: ${systemText(reason)}`);
  }
}
