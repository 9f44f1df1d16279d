/** Command line of the image client (spec: image client, sections 1 and 2). */
import { type GetoptSpec, getopt } from '../base/options/getopt.js';
import type { Scaling } from './preprocess.js';

/** The command line, checked. */
export interface ImageClientOptions {
  readonly verbose: boolean;
  readonly async: boolean;
  readonly streaming: boolean;
  readonly model: string;
  /** '' = the latest. */
  readonly version: string;
  readonly batchSize: number;
  readonly classes: number;
  readonly scaling: Scaling;
  readonly url: string;
  readonly protocol: 'http' | 'grpc';
  /** File for the preprocessed bytes of the first picture. */
  readonly preprocessedFile: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** File or folder. */
  readonly path: string;
}

/** A command line that cannot be used: what to print on stderr. */
export interface OptionsFault {
  /** Lines in front of the usage, or alone. */
  readonly message: string;
  readonly showUsage: boolean;
}

const flag = (letter: string): GetoptSpec => ({ name: '', short: letter, argument: 'none' });
const valued = (letter: string): GetoptSpec => ({ name: '', short: letter, argument: 'required' });

const SPECS: readonly GetoptSpec[] = [
  flag('v'),
  flag('a'),
  { name: 'streaming', argument: 'none' },
  ...['u', 'm', 'x', 'b', 'c', 's', 'p', 'i', 'H'].map(valued),
];

/** Name under which the command calls itself. */
const PROGRAM = 'triton image-client';

/** Usage text, without an error line. */
export const USAGE = `Usage: ${PROGRAM} [options] <image filename / image folder>
    Note that image folder should only contain image files.
\t-v
\t-a
\t--streaming
\t-b <batch size>
\t-c <topk>
\t-s <NONE|INCEPTION|VGG>
\t-p <preprocessed output filename>
\t-m <model name>
\t-x <model version>
\t-u <URL for inference service>
\t-i <Protocol used to communicate with inference service>
\t-H <HTTP header>

-v prints every request. With -a requests are sent without waiting for each other;
otherwise one after the other. --streaming sends them on one gRPC stream; it needs -i grpc and -a.
For -b, pictures are grouped into batches of the given size; the last batch is filled up
        from the first picture on, so that a single one is repeated. Default is 1.
For -c, the number of classes to print, best first. Default is 1.
For -s, how samples are scaled. Default is NONE.
    INCEPTION: to [-1.0, 1.0].
    VGG: minus the mean colour, 123 of red, 117 of green and 104 of blue.
Without -x the latest version of the model is used.
For -p, the file gets the model's input as made from the first picture: raw, without a header.
For -u, the default is localhost:8000, also with -i grpc: servers listen for gRPC on port 8001.
For -i, the protocols are HTTP and gRPC. Default is HTTP.
For -H, the form is 'Header:Value'. Repeatable. With gRPC it is sent as metadata.
`;

/** Reads a command line. The first fault is the one that the original program would stop at. */
export function readOptions(args: readonly string[]): ImageClientOptions | OptionsFault {
  const { matches, positionals, errors } = getopt(args, SPECS);
  const values = new Map<string, string>();
  const headers: Record<string, string> = {};
  let scaling: Scaling = 'NONE';
  let protocol: 'http' | 'grpc' = 'http';
  const firstError = errors[0];
  for (const [index, { name, value = '' }] of matches.entries()) {
    if (firstError !== undefined && firstError.afterMatches <= index) break;
    switch (name) {
      case 's':
        if (!isScaling(value)) {
          return plain(`unexpected scale type "${value}", expecting NONE, INCEPTION or VGG`);
        }
        scaling = value;
        break;
      case 'i': {
        const lower = value.toLowerCase();
        if (lower !== 'http' && lower !== 'grpc') {
          return plain(`unexpected protocol type "${value}", expecting HTTP or gRPC`);
        }
        protocol = lower;
        break;
      }
      case 'H': {
        const colon = value.indexOf(':');
        if (colon < 0) return fault(`-H header must be specified as 'Header:Value', got '${value}'`);
        headers[value.slice(0, colon)] = value.slice(colon + 1);
        break;
      }
      default:
        values.set(name, value);
    }
  }
  if (firstError !== undefined) return { message: `${PROGRAM}: ${firstError.message}\n`, showUsage: true };
  const options: ImageClientOptions = {
    verbose: values.has('v'),
    async: values.has('a'),
    streaming: values.has('streaming'),
    model: values.get('m') ?? '',
    version: values.get('x') ?? '',
    batchSize: atoi(values.get('b') ?? '1'),
    classes: atoi(values.get('c') ?? '1'),
    scaling,
    url: values.get('u') ?? 'localhost:8000',
    protocol,
    preprocessedFile: values.get('p') || undefined,
    headers,
    path: positionals[0] ?? '',
  };
  return findFault(options) ?? options;
}

function findFault(options: ImageClientOptions): OptionsFault | undefined {
  if (options.model === '') return fault('-m flag must be specified');
  if (options.batchSize <= 0) return fault('batch size must be > 0');
  if (options.classes <= 0) return fault('topk must be > 0');
  if (options.path === '') return fault('image file or image folder must be specified');
  if (options.streaming && options.protocol !== 'grpc') return fault('Streaming is only allowed with gRPC protocol');
  if (options.streaming && !options.async) return fault('Only async operation is supported in streaming');
  return undefined;
}

function fault(message: string): OptionsFault {
  return { message: `error: ${message}\n`, showUsage: true };
}

function plain(message: string): OptionsFault {
  return { message: `${message}\n`, showUsage: false };
}

function isScaling(text: string): text is Scaling {
  return text === 'NONE' || text === 'INCEPTION' || text === 'VGG';
}

/** C's `atoi`: the number at the beginning, 0 where there is none. */
function atoi(text: string): number {
  const number = Number.parseInt(text, 10);
  return Number.isNaN(number) ? 0 : number;
}
