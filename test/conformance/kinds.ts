import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** What a runner made of one case. */
export type Verdict = 'passed' | 'failed' | 'skipped';

/** Verdicts by case name. */
export type Verdicts = ReadonlyMap<string, Verdict>;

/** Directories and commands that the kinds fill into the runners' command lines. */
export interface Places {
  /** Directory of the recordings with their runners. */
  readonly recordings: string;
  /** `node .../bin/triton.js`, quoted for the runners' shell-like splitting. */
  readonly triton: string;
  /** File that a runner may write its results to. */
  readonly json: string;
  /** Three free ports for runners that take ports instead of choosing them. */
  readonly ports: readonly number[];
}

/** One runner with one set of cases. */
export interface Kind {
  readonly name: string;
  /** True for what is too slow for every run; `--all` includes it. */
  readonly slow: boolean;
  arguments(places: Places): string[];
  /** Verdicts from the runner's output and its JSON file. */
  read(places: Places, output: string): Verdicts;
}

const PORTS = '--http-port {http} --grpc-port {grpc} --metrics-port {metrics}';
const SERVE_PORTS = `${PORTS} {args}`;

/** Every kind of recording that is compared. Those whose feature is not built yet have short lists or none. */
export const KINDS: readonly Kind[] = [
  ...['http/none', 'http/main', 'http/restricted', 'http/forward', 'http/trace'].map(replayKind),
  ...['grpc/none', 'grpc/main', 'grpc/restricted', 'grpc/forward', 'grpc/trace'].map(replayKind),
  {
    name: 'cli',
    slow: false,
    arguments: ({ recordings, triton, json }) => [
      `${recordings}/check_cli.py`,
      ...['--serve', `${triton} serve {args}`, '--json', json, '--jobs', '2'],
    ],
    read: readByName,
  },
  repositoryKind('repository-validate', false, ({ triton }) => [
    '--validate',
    `${triton} repo validate {repo} --format json {args}`,
  ]),
  repositoryKind('repository-serve', true, ({ triton }) => ['--serve', `${triton} serve {repos} ${SERVE_PORTS}`]),
  {
    name: 'effective',
    slow: false,
    arguments: ({ recordings, triton, json }) => [
      path.resolve(import.meta.dirname, '../../../test/conformance/check_effective.py'),
      recordings,
      ...['--validate', `${triton} repo validate {repo} --format json --show-effective {args}`],
      ...['--json', json, '--jobs', '2'],
    ],
    read: ({ json }) => {
      const rows = JSON.parse(readFileSync(json, 'utf8')) as { name: string; result: Verdict }[];
      return new Map(rows.map((row) => [row.name, row.result]));
    },
  },
  {
    name: 'image-client',
    slow: false,
    arguments: ({ recordings, triton, json }) => [
      `${recordings}/check_image_client.py`,
      ...['--serve', `${triton} serve {repos} ${SERVE_PORTS}`],
      ...['--tool', `${triton} image-client {args}`, '--json', json, '--jobs', '2', '--skip', 'ensemble_image_client*'],
    ],
    read: readByName,
  },
  {
    name: 'image-tensors',
    slow: false,
    arguments: ({ recordings, triton, json }) => [
      `${recordings}/check_image_client.py`,
      ...['--tensors', `${triton} image-client --tensors {image} {width} {height} {scaling} {layout}`],
      ...['--json', json, '--jobs', '2'],
    ],
    read: readByName,
  },
  {
    name: 'runtime',
    slow: true,
    arguments: ({ recordings, triton, json }) => [
      `${recordings}/check_runtime.py`,
      ...['--serve', `${triton} serve {repos} ${SERVE_PORTS}`, '--json', json],
    ],
    read: ({ json }) => {
      const { cases } = JSON.parse(readFileSync(json, 'utf8')) as { cases: { name: string; result: Verdict }[] };
      return new Map(cases.map((row) => [row.name, row.result]));
    },
  },
  perfKind('perf-command-lines', false, '^(command_lines|options)/'),
  perfKind('perf-runs', true, '^(?!command_lines/|options/)'),
];

function replayKind(folder: string): Kind {
  return {
    name: `replay-${folder.replace('/', '-')}`,
    slow: false,
    arguments: ({ recordings, triton, ports }) => [
      `${recordings}/replay.py`,
      ...['--serve', `${triton} serve {repos} ${SERVE_PORTS}`],
      ...['--newer', '--ports', ports.join(','), `${recordings}/${folder}`],
    ],
    read: ({ recordings }, output) => {
      const failed = new Set([...output.matchAll(/^ {2}failed: (.*)$/gm)].map((match) => match[1]));
      const ended = /^\d+ passed, \d+ failed$/m.test(output);
      return new Map(
        replayNames(path.join(recordings, folder)).map((n) => [n, ended && !failed.has(n) ? 'passed' : 'failed']),
      );
    },
  };
}

function replayNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file !== 'server.json')
    .sort()
    .flatMap((file) => {
      const entries = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as { name: string }[];
      return entries.map((entry) => `${file.slice(0, -5)}/${entry.name}`);
    });
}

function repositoryKind(name: string, slow: boolean, mode: (places: Places) => string[]): Kind {
  return {
    name,
    slow,
    arguments: (places) => [
      `${places.recordings}/check_repository.py`,
      ...mode(places),
      ...['--json', places.json, '--jobs', '2'],
    ],
    read: ({ json }) => {
      const rows = JSON.parse(readFileSync(json, 'utf8')) as { name: string; result: Verdict }[];
      return new Map(rows.map((row) => [row.name, row.result]));
    },
  };
}

function perfKind(name: string, slow: boolean, only: string): Kind {
  return {
    name,
    slow,
    arguments: ({ recordings, triton, json }) => [
      `${recordings}/check_perf.py`,
      ...['--tool', `${triton} perf {args}`, '--serve', `${triton} serve {repos} ${PORTS} --allow-client-shm=true`],
      ...['--only', only, '--json', json, '--jobs', slow ? '1' : '2'],
    ],
    read: ({ json }) => {
      const rows = JSON.parse(readFileSync(json, 'utf8')) as { name: string; passed?: boolean; skipped?: boolean }[];
      return new Map(rows.map((row) => [row.name, row.skipped ? 'skipped' : row.passed ? 'passed' : 'failed']));
    },
  };
}

function readByName({ json }: Places): Verdicts {
  const rows = JSON.parse(readFileSync(json, 'utf8')) as Record<string, { result: Verdict }>;
  return new Map(Object.entries(rows).map(([name, row]) => [name, row.result]));
}
