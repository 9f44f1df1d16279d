import { getopt } from '../../base/options/getopt.js';
import type { ParseState } from './option-spec.js';
import { OPTION_TABLE } from './option-table.js';
import { otelOptions } from './otel-options.js';
import { completeTraceConfig } from './parse-trace-config.js';
import { BadOption, checkPort, parseInt32, parsePair } from './parse-value.js';
import { defaultServerOptions, type OptionsDraft, type ServerOptions } from './server-options.js';
import { settleTls } from './tls-options.js';

/** What a command line means. */
export type ResolvedCommandLine =
  | { readonly kind: 'serve'; readonly options: ServerOptions }
  | { readonly kind: 'help' }
  /** `usage`: the error concerns the command line itself and the usage line goes before it. */
  | { readonly kind: 'error'; readonly message: string; readonly usage: boolean };

const SPECS = OPTION_TABLE.map((option) => ({
  name: option.name,
  argument: option.argument === undefined ? ('none' as const) : ('required' as const),
}));
const BY_NAME = new Map(OPTION_TABLE.map((option) => [option.name, option]));

/**
 * Reads a command line in its order, as the original does: the first bad option, then stray words, then options that do
 * not go together. `warn` gets lines about deprecated options as they are met.
 */
export function resolveOptions(args: readonly string[], warn: (line: string) => void): ResolvedCommandLine {
  const draft = defaultServerOptions();
  const state: ParseState = { draft, given: new Set(), warn, late: [], unsupported: [] };
  const parsed = getopt(args, SPECS);
  const firstError = parsed.errors[0];
  const values = new Map<string, string>();
  for (const [index, match] of parsed.matches.entries()) {
    if (firstError !== undefined && firstError.afterMatches <= index) break;
    if (match.name === 'help') return { kind: 'help' };
    const option = BY_NAME.get(match.name);
    if (option === undefined) throw new Error(`no option ${match.name}`);
    state.given.add(match.name);
    values.set(match.name, match.value ?? '');
    const note = option.note === undefined ? undefined : `--${option.name} has no effect: ${option.note}`;
    if (note !== undefined && !draft.notes.includes(note)) draft.notes = [...draft.notes, note];
    try {
      option.apply(match.value ?? '', state);
    } catch (reason) {
      if (!(reason instanceof BadOption)) throw reason;
      return {
        kind: 'error',
        usage: true,
        message: `Bad option: "--${reason.option ?? match.name}".\n${reason.message}\n`,
      };
    }
  }
  if (firstError !== undefined) {
    return { kind: 'error', usage: true, message: `${firstError.message}${suggestion(firstError.message)}` };
  }
  const stray = parsed.positionals[0];
  if (stray !== undefined) return { kind: 'error', usage: true, message: `Unexpected argument: ${stray}` };
  try {
    checkPorts(draft, values);
    completeTraceConfig(draft.trace, process.env);
  } catch (reason) {
    if (!(reason instanceof BadOption)) throw reason;
    return { kind: 'error', usage: true, message: `Bad option: "${reason.option}".\n${reason.message}\n` };
  }
  const conflict = finish(draft, state, values);
  if (conflict !== undefined) return { kind: 'error', usage: true, message: conflict };
  if (state.late[0] !== undefined) {
    return { kind: 'error', usage: false, message: `Failed to build Triton option:\nerror: ${state.late[0]}` };
  }
  if (state.unsupported[0] !== undefined) {
    return { kind: 'error', usage: false, message: `error: ${state.unsupported[0]}` };
  }
  return { kind: 'serve', options: draft };
}

/** Settles what depends on several options; returns the text of the first conflict. */
function finish(draft: OptionsDraft, state: ParseState, values: ReadonlyMap<string, string>): string | undefined {
  const { given } = state;
  if (draft.metrics.address === '') draft.metrics.address = draft.http.address;
  state.unsupported.push(...settleTls(draft, given));
  if (draft.modelControlMode !== 'poll') draft.repositoryPollSeconds = 0;
  if (given.has('disable-auto-complete-config') && given.has('strict-model-config')) {
    state.warn(
      "Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!",
    );
  }
  if (given.has('disable-auto-complete-config')) draft.autoComplete = false;
  if (draft.loadModels.length > 0 && draft.modelControlMode !== 'explicit') {
    return "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.";
  }
  if (given.has('response-cache-byte-size') && given.has('cache-config')) {
    return 'Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.';
  }
  const reusing = (['http', 'grpc'] as const).find((front) => draft[front].enabled && draft[front].reusePort);
  if (reusing !== undefined && !canReusePort()) {
    state.unsupported.push(`--reuse-${reusing}-port=true: Node ${process.versions.node} cannot share a port, 23.1 can`);
  }
  if (draft.trace.mode === 'opentelemetry') {
    try {
      otelOptions(draft.trace.others.opentelemetry, process.env);
    } catch (reason) {
      state.unsupported.push((reason as Error).message);
    }
  }
  return portConflict(draft, values.get('sagemaker-safe-port-range'), values.get('allow-sagemaker'));
}

/** Ports of services that are switched off are not looked at. */
function checkPorts(draft: OptionsDraft, values: ReadonlyMap<string, string>): void {
  for (const service of ['http', 'grpc', 'metrics'] as const) {
    const port = values.get(`${service}-port`);
    if (port === undefined || !draft[service].enabled) continue;
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
function portConflict(
  draft: OptionsDraft,
  range: string | undefined,
  sagemaker: string | undefined,
): string | undefined {
  const endpoints = (
    [
      ['HTTP', draft.http],
      ['GRPC', draft.grpc],
      ['metrics', draft.metrics],
    ] as const
  ).filter(([, endpoint]) => endpoint.enabled);
  for (const [i, [name, a]] of endpoints.entries()) {
    for (const [other, b] of endpoints.slice(i + 1)) {
      if (a.port !== 0 && a.port === b.port && a.address === b.address) {
        return `The server cannot listen to ${name} requests and ${other} requests at the same address and port ${a.address}:${a.port}`;
      }
    }
  }
  if (range === undefined || sagemaker === undefined || !/^(true|on|1)$/i.test(sagemaker)) return undefined;
  const [low, high] = parsePair(range, '-').map(parseInt32) as [number, number];
  for (const [name, { port }] of endpoints) {
    if (port < low || port > high) {
      return `The server cannot listen to ${name} requests at port ${port}, allowed port range is [${low}, ${high}]`;
    }
  }
  return undefined;
}

/** `. Did you mean '--x'?` for an unknown option that is one or two letters away from a known one. */
function suggestion(message: string): string {
  const name = /^unrecognized option '--([^=']+)/.exec(message)?.[1];
  if (name === undefined) return '';
  const near = OPTION_TABLE.map((option) => ({ name: option.name, distance: editDistance(name, option.name) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 4))
    .sort((a, b) => a.distance - b.distance)[0];
  return near === undefined ? '' : `. Did you mean '--${near.name}'?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let k = 1; k <= b.length; k++) {
      const change = (row[k - 1] as number) + (a[i - 1] === b[k - 1] ? 0 : 1);
      next.push(Math.min(change, (row[k] as number) + 1, (next[k - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
