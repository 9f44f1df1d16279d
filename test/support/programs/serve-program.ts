/** Runs `triton serve` as users do: a program with output, signals and an exit status. */
import { spawn } from 'node:child_process';
import { FREE_PORTS } from '../machine/free-port.js';
import { TRITON } from './run-triton.js';

/** Longest wait for a line of the output or for the end, in ms; generous, as machines may be busy. */
const WAIT_MS = 60_000;

/** How a program ended. */
export interface ProgramEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** From the start of the wait, in ms. */
  readonly tookMs: number;
}

/** A server in a process of its own. */
export interface ServeProgram {
  readonly pid: number;
  output(): string;
  /** Resolves with the first match of the pattern in the output so far or to come; rejects when the program ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the program has ended and its output is closed. */
  ended(): Promise<ProgramEnd>;
}

/** How it is started, besides its own arguments. */
export interface ServeOptions {
  /** Variables on top of those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
}

/** Starts it on free ports of 127.0.0.1. */
export function serveProgram(
  repository: string,
  args: readonly string[] = [],
  { env = {}, nodeArgs = [] }: ServeOptions = {},
): ServeProgram {
  const all = [...nodeArgs, TRITON, 'serve', `--model-repository=${repository}`, ...FREE_PORTS, ...args];
  const child = spawn(process.execPath, all, { env: { ...process.env, ...env } });
  let output = '';
  let over: { status: number | null; signal: NodeJS.Signals | null } | undefined;
  const looks = new Set<() => void>();
  const changed = (): void => {
    for (const look of [...looks]) look();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      changed();
    });
  }
  child.on('exit', (status, signal) => {
    over = { status, signal };
    changed();
  });
  const wait = <T>(what: string, look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const settle = (action: () => void): void => {
        clearTimeout(timer);
        looks.delete(onChange);
        action();
      };
      const onChange = (): void => {
        try {
          const found = look();
          if (found !== undefined) settle(() => resolve(found));
        } catch (reason) {
          settle(() => reject(reason));
        }
      };
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`waited in vain for ${what}:\n${output}`)));
        child.kill('SIGKILL');
      }, WAIT_MS);
      looks.add(onChange);
      onChange();
    });
  return {
    pid: child.pid ?? 0,
    output: () => output,
    printed: (pattern) =>
      wait(String(pattern), () => {
        const match = pattern.exec(output);
        if (match === null && over !== undefined) throw new Error(`ended before it printed ${pattern}:\n${output}`);
        return match ?? undefined;
      }),
    kill: (signal) => void child.kill(signal),
    ended: async () => {
      const start = performance.now();
      const { status, signal } = await wait('the end of the server', () => over);
      return { status, signal, output, tookMs: performance.now() - start };
    },
  };
}

/** The HTTP port that the server's log names. */
export function httpPort(program: ServeProgram): Promise<number> {
  return portOf(program, 'HTTPService');
}

/** The gRPC port that the server's log names. */
export function grpcPort(program: ServeProgram): Promise<number> {
  return portOf(program, 'GRPCInferenceService');
}

/** The port of the metrics, which is the last that the server opens. */
export function metricsPort(program: ServeProgram): Promise<number> {
  return portOf(program, 'Metrics Service');
}

async function portOf(program: ServeProgram, service: string): Promise<number> {
  return Number((await program.printed(new RegExp(`Started ${service} at [^"\\s]*:(\\d+)`)))[1]);
}
