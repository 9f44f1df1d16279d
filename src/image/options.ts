/** Command line of the image client, with the messages of image_client.cc. */
import { readLoose } from '../base/options/c-numbers.js';
import { helpText } from '../base/options/help-text.js';
import { freezeGroups, type Option, type OptionsDraft, optionMaker } from '../base/options/option.js';
import { OptionError } from '../base/options/option-error.js';
import { text } from '../base/options/parse-value.js';
import { readOptions as readTable, standardOptions } from '../base/options/read-options.js';
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
  /** File for the preprocessed bytes of the first image. */
  readonly preprocessedFile: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** File or folder. */
  readonly path: string;
}

/** What a command line asks for besides classifying. */
export interface StandardRequest {
  readonly kind: 'help' | 'version';
}

/** A command line that cannot be used: what to print on stderr. */
export interface OptionsFault {
  /** Lines in front of the usage, or alone. */
  readonly message: string;
  readonly showUsage: boolean;
}

const DEFAULTS: ImageClientOptions = {
  verbose: false,
  async: false,
  streaming: false,
  model: '',
  version: '',
  batchSize: 1,
  classes: 1,
  scaling: 'NONE',
  url: 'localhost:8000',
  protocol: 'http',
  preprocessedFile: undefined,
  headers: {},
  path: '',
};

interface Context {
  readonly options: OptionsDraft<{ readonly image: ImageClientOptions }>;
}

/** A message of image_client.cc about one value; it is printed without the usage when it stands alone. */
class ValueFault extends OptionError {
  constructor(readonly fault: OptionsFault) {
    super(fault.message);
  }
}

const { option, flag } = optionMaker<Context>();

const TABLE: readonly Option<Context>[] = [
  ...standardOptions('Options'),
  flag({ name: '', short: 'v', help: 'Print every request.', into: ['image', 'verbose'] }),
  flag({
    name: '',
    short: 'a',
    help: 'Send requests without waiting for each other; otherwise one after the other.',
    into: ['image', 'async'],
  }),
  flag({
    name: 'streaming',
    help: 'Send requests on one gRPC stream; needs -i grpc and -a.',
    into: ['image', 'streaming'],
  }),
  option({
    name: '',
    short: 'b',
    argument: 'batch size',
    help: 'Images in a request; the last request is filled up from the first image on, so that a single one is repeated.',
    parse: readLoose,
    into: ['image', 'batchSize'],
  }),
  option({
    name: '',
    short: 'c',
    argument: 'topk',
    help: 'Number of classes to print, best first.',
    parse: readLoose,
    into: ['image', 'classes'],
  }),
  option({
    name: '',
    short: 's',
    argument: 'NONE|INCEPTION|VGG',
    help:
      'How samples are scaled. INCEPTION: to [-1.0, 1.0]. VGG: minus the mean colour, 123 of red, 117 of green and 104 ' +
      'of blue.',
    parse(value: string): Scaling {
      if (value === 'NONE' || value === 'INCEPTION' || value === 'VGG') return value;
      throw new ValueFault(alone(`unexpected scale type "${value}", expecting NONE, INCEPTION or VGG`));
    },
    into: ['image', 'scaling'],
  }),
  option({
    name: '',
    short: 'p',
    argument: 'preprocessed output filename',
    help: "File for the model's input as made from the first image: raw, without a header.",
    parse: (file: string) => file || undefined,
    into: ['image', 'preprocessedFile'],
  }),
  option({
    name: '',
    short: 'm',
    argument: 'model name',
    help: 'The model. Required.',
    parse: text,
    into: ['image', 'model'],
  }),
  option({
    name: '',
    short: 'x',
    argument: 'model version',
    help: 'Version of the model.',
    default: 'the latest',
    parse: text,
    into: ['image', 'version'],
  }),
  option({
    name: '',
    short: 'u',
    argument: 'URL for inference service',
    help: 'Address of the server, also with -i grpc, although servers listen for gRPC on port 8001.',
    parse: text,
    into: ['image', 'url'],
  }),
  option({
    name: '',
    short: 'i',
    argument: 'Protocol used to communicate with inference service',
    help: 'HTTP or gRPC.',
    parse(value: string): ImageClientOptions['protocol'] {
      const protocol = value.toLowerCase();
      if (protocol === 'http' || protocol === 'grpc') return protocol;
      throw new ValueFault(alone(`unexpected protocol type "${value}", expecting HTTP or gRPC`));
    },
    into: ['image', 'protocol'],
  }),
  option({
    name: '',
    short: 'H',
    argument: 'HTTP header',
    help: "'Header:Value'; with gRPC it is sent as metadata. May be given several times.",
    repeatable: true,
    parse: text,
    set({ options: { image } }, value) {
      const colon = value.indexOf(':');
      if (colon < 0) throw new ValueFault(fault(`-H header must be specified as 'Header:Value', got '${value}'`));
      image.headers = { ...image.headers, [value.slice(0, colon)]: value.slice(colon + 1) };
    },
  }),
];

/** Name under which the command calls itself. */
const PROGRAM = 'triton image-client';

/** The help text, which also follows messages about the command line. */
export function imageHelp(): string {
  return helpText({
    usage: `${PROGRAM} [options] <image filename / image folder>`,
    about: 'Note that image folder should only contain image files.',
    options: TABLE,
    defaults: { image: DEFAULTS },
  });
}

/** Reads a command line. The first fault is the one that image_client would stop at. */
export function readOptions(args: readonly string[]): ImageClientOptions | OptionsFault | StandardRequest {
  const context: Context = { options: { image: { ...DEFAULTS } } };
  const outcome = readTable(args, TABLE, context);
  if (outcome.kind === 'standard') return { kind: outcome.name };
  if (outcome.kind === 'malformed') {
    const { error, near } = outcome;
    const suggestion = near === undefined ? '' : ` Did you mean '${near}'?`;
    return { message: `${PROGRAM}: ${error.message}${suggestion}\n`, showUsage: true };
  }
  if (outcome.kind === 'refused') {
    if (outcome.error instanceof ValueFault) return outcome.error.fault;
    throw outcome.error;
  }
  const { image } = context.options;
  image.path = outcome.positionals[0] ?? '';
  return findFault(image) ?? freezeGroups({ image }).image;
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

function alone(message: string): OptionsFault {
  return { message: `${message}\n`, showUsage: false };
}
