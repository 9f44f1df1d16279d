/** Models that can be fetched by name: where their publishers keep them, how large they are, what they hash to. */
import { readFile } from 'node:fs/promises';
import { invalidArg } from '../../base/error.js';

/** One file to download. */
export interface PublishedFile {
  readonly url: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Where it goes in the model's directory; of an archive, its members by name and where each goes. */
  readonly path: string | Readonly<Record<string, string>>;
}

/** One model. */
export interface PublishedModel {
  readonly name: string;
  /** What it is, in a few words. */
  readonly about: string;
  readonly files: readonly PublishedFile[];
  /** Text of its config.pbtxt. */
  readonly config: string;
  /** What to know before serving it. */
  readonly note?: string;
}

const ZOO = 'https://github.com/onnx/models/raw/main/validated/vision/classification';

/** The thousand classes of ImageNet in their usual order, as the quickstart of NVIDIA's server ships them. */
const LABELS: PublishedFile = {
  url: 'https://raw.githubusercontent.com/triton-inference-server/server/r24.10/docs/examples/model_repository/densenet_onnx/densenet_labels.txt',
  bytes: 10_311,
  sha256: '9c89e59490666e2976a0dded535a755b9878a71e14400804df8d356131d2fc04',
  path: 'labels.txt',
};

/** Sizes and hashes: the model zoo's own manifest (ONNX), Open Model Zoo's description of googlenet-v3 (TensorFlow). */
export const PUBLISHED_MODELS: readonly PublishedModel[] = [
  {
    name: 'densenet_onnx',
    about: 'DenseNet-121, ImageNet, ONNX',
    files: [
      {
        url: `${ZOO}/densenet-121/model/densenet-7.onnx`,
        bytes: 32_719_461,
        sha256: '79c3bc0974696a2ea9efd2f7bca19fdd630834bd0086f1b4a1c3db3dce3b2a51',
        path: '1/model.onnx',
      },
      { ...LABELS, path: 'densenet_labels.txt' },
    ],
    config: onnxConfig('densenet_onnx', 'fc6_1', '[ 1, 1000, 1, 1 ]', 'densenet_labels.txt'),
  },
  {
    name: 'inception_v1_onnx',
    about: 'Inception v1 (GoogLeNet), ImageNet, ONNX',
    files: [
      {
        url: `${ZOO}/inception_and_googlenet/inception_v1/model/inception-v1-12.onnx`,
        bytes: 28_021_958,
        sha256: '814b31a6316873bd03d2d808415ce1f40a7bf48ad88eab5ecc3cdc8dc6cf38ec',
        path: '1/model.onnx',
      },
      LABELS,
    ],
    config: onnxConfig('inception_v1_onnx', 'prob_1', '[ 1, 1000 ]', LABELS.path as string),
  },
  {
    name: 'inception_v2_onnx',
    about: 'Inception v2, ImageNet, ONNX',
    files: [
      {
        url: `${ZOO}/inception_and_googlenet/inception_v2/model/inception-v2-9.onnx`,
        bytes: 45_042_799,
        sha256: '37ed4aa93f817fd0d1cc19bda045ebd70f18d0887a5f51e66ecd0ed8fd5a65c2',
        path: '1/model.onnx',
      },
      LABELS,
    ],
    config: onnxConfig('inception_v2_onnx', 'prob_1', '[ 1, 1000 ]', LABELS.path as string),
  },
  {
    name: 'inception_graphdef',
    about: 'Inception v3, ImageNet, TensorFlow GraphDef',
    files: [
      {
        url: 'https://storage.googleapis.com/download.tensorflow.org/models/inception_v3_2016_08_28_frozen.pb.tar.gz',
        bytes: 88_668_554,
        sha256: '7045b72a954af4dce36346f478610acdccbf149168fa25c78e54e32f0c723d6d',
        path: {
          'inception_v3_2016_08_28_frozen.pb': '1/model.graphdef',
          'imagenet_slim_labels.txt': 'inception_labels.txt',
        },
      },
    ],
    config: `name: "inception_graphdef"
platform: "tensorflow_graphdef"
max_batch_size: 128
input {
  name: "input"
  data_type: TYPE_FP32
  format: FORMAT_NHWC
  dims: [ 299, 299, 3 ]
}
output {
  name: "InceptionV3/Predictions/Softmax"
  data_type: TYPE_FP32
  dims: [ 1001 ]
  label_filename: "inception_labels.txt"
}
`,
    note: "It needs the TensorFlow backend of another server. To run it here as 'inception_onnx', convert it: python -m tf2onnx.convert --graphdef inception_graphdef/1/model.graphdef --inputs input:0 --outputs InceptionV3/Predictions/Softmax:0 --output inception_onnx.onnx; then: triton repo add inception_onnx.onnx",
  },
];

function onnxConfig(name: string, output: string, shape: string, labels: string): string {
  return `name: "${name}"
platform: "onnxruntime_onnx"
max_batch_size: 0
input {
  name: "data_0"
  data_type: TYPE_FP32
  format: FORMAT_NCHW
  dims: [ 3, 224, 224 ]
  reshape { shape: [ 1, 3, 224, 224 ] }
}
output {
  name: "${output}"
  data_type: TYPE_FP32
  dims: [ 1000 ]
  reshape { shape: ${shape} }
  label_filename: "${labels}"
}
`;
}

/** Models of a catalogue file: a JSON list of objects like those above. INVALID_ARG says which member is wrong. */
export async function readCatalog(file: string): Promise<readonly PublishedModel[]> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (reason) {
    throw invalidArg(`the catalogue '${file}' cannot be read: ${(reason as Error).message}`);
  }
  const problem = catalogProblem(content);
  if (problem !== undefined) throw invalidArg(`the catalogue '${file}' is wrong: ${problem}`);
  return (content as PublishedModel[]).map((model) => ({ ...model, about: model.about ?? '' }));
}

function catalogProblem(content: unknown): string | undefined {
  if (!Array.isArray(content)) return 'it must be a list of models';
  for (const [i, model] of content.entries()) {
    const { name, files, config } = (model ?? {}) as Partial<PublishedModel>;
    if (typeof name !== 'string' || name === '' || name.startsWith('.') || /[/\\\0]/.test(name))
      return `[${i}].name must name a directory`;
    if (typeof config !== 'string') return `[${i}].config must be the text of a config.pbtxt`;
    if (!Array.isArray(files) || files.length === 0) return `[${i}].files must be a list`;
    for (const [k, entry] of files.entries()) {
      const { url, bytes, sha256, path } = (entry ?? {}) as Partial<PublishedFile>;
      const at = `[${i}].files[${k}]`;
      if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:/.test(url))
        return `${at}.url must be an http(s) address`;
      if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) return `${at}.bytes must be the size of the file`;
      if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
        return `${at}.sha256 must be 64 hexadecimal digits`;
      const places = typeof path === 'string' ? [path] : Object.values(path ?? {});
      if (places.length === 0 || !places.every(isInside)) return `${at}.path must lie in the model's directory`;
    }
  }
  return undefined;
}

function isInside(place: unknown): boolean {
  return typeof place === 'string' && /^(?!\/)[^\\\0]+$/.test(place) && !place.split('/').includes('..');
}
