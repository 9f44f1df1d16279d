import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { FREE_PORTS } from '../support/machine/free-port.js';
import { TRITON } from '../support/programs/run-triton.js';

/** How much of what the server prints is kept: an attack may make it print without end. */
const KEPT_OUTPUT = 100_000;

/** A real `triton serve` in a process of its own. */
export class ServerUnderAttack {
  output = '';
  /** Bytes that it printed. */
  printed = 0;
  ended: { readonly status: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  readonly #end: Promise<void>;

  private constructor(readonly child: ChildProcess) {
    const add = (text: string): void => {
      this.printed += text.length;
      this.output = (this.output + text).slice(-KEPT_OUTPUT);
    };
    child.stdout?.setEncoding('utf8').on('data', add);
    child.stderr?.setEncoding('utf8').on('data', add);
    this.#end = new Promise((resolve) => {
      child.on('close', (status, signal) => {
        this.ended = { status, signal };
        resolve();
      });
    });
  }

  /** Starts it on free ports. Rejects with what it printed when it does not come up. */
  static async start(
    repository: string,
    args: readonly string[] = [],
    nodeArgs: readonly string[] = [],
  ): Promise<ServerUnderAttack> {
    const all = [...nodeArgs, TRITON, 'serve', `--model-repository=${repository}`, ...FREE_PORTS, ...args];
    const server = new ServerUnderAttack(spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'pipe'] }));
    const logFile = args.find((arg) => arg.startsWith('--log-file='))?.slice('--log-file='.length);
    while (!server.output.includes('Started Metrics')) {
      // The log goes to the file then, and nothing to the standard streams.
      if (logFile !== undefined && existsSync(logFile)) server.output = readFileSync(logFile, 'utf8');
      if (server.ended !== undefined) throw new Error(`the server ended: ${server.output}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return Object.assign(server, {
      httpPort: server.#port('HTTPService'),
      grpcPort: server.#port('GRPCInferenceService'),
      metricsPort: server.#port('Metrics Service'),
    });
  }

  readonly httpPort: number = 0;
  readonly grpcPort: number = 0;
  readonly metricsPort: number = 0;

  #port(service: string): number {
    return Number(new RegExp(`Started ${service} at [^"\\s]*:(\\d+)`).exec(this.output)?.[1]);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** MiB that are resident now, and at most since `forgetPeak`; 0 once it has ended. */
  memory(): { readonly resident: number; readonly peak: number } {
    const status = this.#read('status');
    const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
    return { resident: of('VmRSS'), peak: of('VmHWM') };
  }

  /** From now on the peak is counted from the start. */
  forgetPeak(): void {
    try {
      writeFileSync(`/proc/${this.pid}/clear_refs`, '5');
    } catch {
      // A kernel without it: the peak is that of the whole life then.
    }
  }

  /** Descriptors that it has open. */
  descriptors(): number {
    try {
      return readdirSync(`/proc/${this.pid}/fd`).length;
    } catch {
      return 0; // it has ended
    }
  }

  #read(file: string): string {
    try {
      return readFileSync(`/proc/${this.pid}/${file}`, 'utf8');
    } catch {
      return ''; // it has ended
    }
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Ends it as a service manager does: SIGTERM, and SIGKILL after N seconds. Resolves to the seconds that it took. */
  async stop(seconds: number): Promise<number> {
    const begin = performance.now();
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), seconds * 1000);
    await this.#end;
    clearTimeout(timer);
    return (performance.now() - begin) / 1000;
  }
}
