import { statSync } from 'node:fs';
import { helpText } from '../../base/options/help-text.js';
import { freezeGroups } from '../../base/options/option.js';
import { helpHint, type OptionError, usageLine } from '../../base/options/option-error.js';
import { type ReadOutcome, readOptions } from '../../base/options/read-options.js';
import type { EndpointOptions } from './http-options.js';
import { addRepository } from './models-options.js';
import { otelOptions } from './otel-options.js';
import { BadOption, checkPort, integerPair, parseInt32 } from './parse-value.js';
import type { ParseState, ServerOption } from './server-option.js';
import { defaultServerOptions, OPTION_TABLE, type ServerOptions } from './server-options.js';
import { settleTls } from './tls-options.js';
import { completeTraceConfig } from './trace-options.js';

const COMMAND = 'triton serve';

/** What a command line means. */
export type ResolvedCommandLine =
  | { readonly kind: 'serve'; readonly options: ServerOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** `message`: what goes to stderr; a line end follows it. */
  | { readonly kind: 'error'; readonly message: string };

/** The help text of `triton serve`. */
export function serveHelp(): string {
  return helpText({
    usage: `${COMMAND} [options] [model repository]...`,
    options: OPTION_TABLE,
    defaults: defaultServerOptions(),
  });
}

/**
 * Reads a command line in its order, as Triton does: the first bad option, then stray words, then options that do not go
 * together. `warn` gets lines about deprecated options as they are met.
 */
export function resolveOptions(args: readonly string[], warn: (line: string) => void): ResolvedCommandLine {
  const notes = new Set<string>();
  const state: ParseState = {
    options: defaultServerOptions(),
    given: new Map(),
    traceGiven: new Set(),
    warn,
    late: [],
    unsupported: [],
  };
  const outcome = readOptions(
    args,
    OPTION_TABLE.map((option) => noticed(option, notes)),
    state,
  );
  if (outcome.kind === 'standard') return { kind: outcome.name };
  const message = outcome.kind === 'read' ? finish(outcome.positionals, state) : malformed(outcome);
  if (message !== undefined) return { kind: 'error', message };
  return { kind: 'serve', options: freezeGroups({ ...state.options, notes: [...notes] }) };
}

/** The option, which notes that it was given, and what the log is to say about it. */
function noticed(option: ServerOption, notes: Set<string>): ServerOption {
  return {
    ...option,
    take(given, state) {
      state.given.set(option.name, given.value);
      if (option.note !== undefined) notes.add(`--${option.name} has no effect: ${option.note}`);
      option.take(given, state);
    },
  };
}

function malformed(outcome: Extract<ReadOutcome, { kind: 'malformed' | 'refused' }>): string {
  if (outcome.kind === 'refused') return refusal(outcome.label, outcome.error);
  const { error, near } = outcome;
  return usageLine(COMMAND, near === undefined ? error.message : `${error.message}. Did you mean '${near}'?`);
}

/** Triton's two lines for its own messages, one line for others. */
function refusal(label: string, error: OptionError): string {
  if (!(error instanceof BadOption)) return usageLine(COMMAND, `${label}: ${error.message}`);
  const name = label.startsWith('--') ? label : `--${label}`;
  return copied(`Bad option: "${name}".\n${error.message}\n`);
}

/** One of Triton's messages, to the letter, and where help is. */
function copied(message: string): string {
  return `${message}\n${helpHint(COMMAND)}`;
}

/** Settles what depends on several options; returns the first error. */
function finish(positionals: readonly string[], state: ParseState): string | undefined {
  for (const word of positionals) {
    if (!isRepository(word)) return copied(`Unexpected argument: ${word}. It is not a directory of models.`);
    addRepository(state, word);
  }
  try {
    checkPorts(state);
    completeTraceConfig(state, process.env);
  } catch (reason) {
    if (!(reason instanceof BadOption)) throw reason;
    return refusal(reason.option ?? '', reason);
  }
  const conflict = settle(state);
  if (conflict !== undefined) return copied(conflict);
  const [late] = state.late;
  if (late !== undefined) return `Failed to build Triton option:\nerror: ${late}`;
  const [unsupported] = state.unsupported;
  return unsupported === undefined ? undefined : usageLine(COMMAND, unsupported);
}

/** A directory, or an address in an object store. Triton takes no such argument: other words keep its message. */
function isRepository(word: string): boolean {
  return /^\w+:\/\//.test(word) || statSync(word, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Values that follow from others, and the first of Triton's messages about options that do not go together. */
function settle(state: ParseState): string | undefined {
  const { options, given, unsupported } = state;
  const { models, metrics, http, trace } = options;
  if (metrics.address === '') metrics.address = http.address;
  unsupported.push(...settleTls(state));
  if (models.controlMode !== 'poll') models.pollSeconds = 0;
  if (given.has('disable-auto-complete-config') && given.has('strict-model-config')) {
    state.warn(
      "Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!",
    );
  }
  if (given.has('disable-auto-complete-config')) models.autoComplete = false;
  if (models.loadModels.length > 0 && models.controlMode !== 'explicit') {
    return "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.";
  }
  if (given.has('response-cache-byte-size') && given.has('cache-config')) {
    return 'Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.';
  }
  const reusing = (['http', 'grpc'] as const).find((front) => options[front].enabled && options[front].reusePort);
  if (reusing !== undefined && !canReusePort()) {
    unsupported.push(`--reuse-${reusing}-port=true: Node ${process.versions.node} cannot share a port, 23.1 can`);
  }
  if (trace.mode === 'opentelemetry') {
    try {
      otelOptions(trace.others.opentelemetry, process.env);
    } catch (reason) {
      unsupported.push((reason as Error).message);
    }
  }
  return portConflict(state);
}

/** Ports of services that are switched off are not looked at. */
function checkPorts({ options, given }: ParseState): void {
  for (const service of ['http', 'grpc', 'metrics'] as const) {
    const port = given.get(`${service}-port`);
    if (port === undefined || !options[service].enabled) continue;
    try {
      checkPort(port);
    } catch (reason) {
      throw new BadOption((reason as Error).message, `--${service}-port`);
    }
  }
}

function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1);
}

/** Two endpoints on one address and port, or one outside the range that SageMaker allows. Port 0 never conflicts. */
function portConflict({ options: { http, grpc, metrics }, given }: ParseState): string | undefined {
  const all: readonly [name: string, endpoint: EndpointOptions][] = [
    ['HTTP', http],
    ['GRPC', grpc],
    ['metrics', metrics],
  ];
  const endpoints = all.filter(([, { enabled }]) => enabled);
  for (const [i, [name, a]] of endpoints.entries()) {
    for (const [other, b] of endpoints.slice(i + 1)) {
      if (a.port !== 0 && a.port === b.port && a.address === b.address) {
        return `The server cannot listen to ${name} requests and ${other} requests at the same address and port ${a.address}:${a.port}`;
      }
    }
  }
  const range = given.get('sagemaker-safe-port-range');
  if (range === undefined || !/^(true|on|1)$/i.test(given.get('allow-sagemaker') ?? '')) return undefined;
  const [low, high] = integerPair('-', parseInt32)(range);
  for (const [name, { port }] of endpoints) {
    if (port < low || port > high) {
      return `The server cannot listen to ${name} requests at port ${port}, allowed port range is [${low}, ${high}]`;
    }
  }
  return undefined;
}
