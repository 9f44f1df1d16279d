/** `triton perf`: measures a model on a server, with the options and the report of perf_analyzer. */

import { helpHint } from '../base/options/option-error.js';
import { PROTOCOL_VERSION, packageVersion } from '../base/package.js';
import { PerfError, PerfExit } from '../perf/error/perf-error.js';
import { levelName } from '../perf/levels/measured-level.js';
import { perfHelp } from '../perf/options/perf-options.js';
import { parseArgs } from '../perf/prepare/parse-args.js';
import { SILENT, TerminalProgress } from '../perf/report/progress.js';
import type { Command } from './frame/command.js';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const warn = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** `triton perf`: 0 when the run went through, else the status of what ended it (PerfExit). */
export const run: Command = async (args) => {
  try {
    const parsed = parseArgs(args, warn);
    if (parsed.kind === 'help') {
      process.stdout.write(perfHelp());
      return 0;
    }
    if (parsed.kind === 'version') {
      warn(`Perf Analyzer Version ${packageVersion()} (commit triton-${PROTOCOL_VERSION})`);
      return 0;
    }
    return await measure(parsed.options);
  } catch (reason) {
    if (!(reason instanceof PerfError)) throw reason;
    // Scripts compare the end of what perf_analyzer prints: what is ours stands before it, or on a terminal only.
    if (reason.usage) warn(helpHint('triton perf'));
    process.stderr.write(`${reason.message}\n${'\n'.repeat(reason.emptyLines)}`);
    if (reason.hint !== undefined && process.stderr.isTTY) warn(reason.hint);
    return reason.exit;
  }
};

type Options = Extract<ReturnType<typeof parseArgs>, { kind: 'measure' }>['options'];

async function measure(options: Options): Promise<number> {
  const { runPerf } = await import('../perf/run-perf.js');
  const chart = options.report.chart || process.stdout.isTTY === true;
  const stop = watchInterrupts();
  try {
    const { complete } = await runPerf(options, {
      print,
      warn,
      interrupted: stop.requested,
      version: packageVersion(),
      chart,
      progress: chart ? new TerminalProgress(process.stderr, levelName(options.load)) : SILENT,
    });
    return options.measure.strict && !complete ? PerfExit.INCOMPLETE : PerfExit.SUCCESS;
  } finally {
    stop.end();
  }
}

/** The first Ctrl-C lets the run end in good order, the second ends the program at once. */
function watchInterrupts(): { requested(): boolean; end(): void } {
  let count = 0;
  const onInterrupt = (): void => {
    count += 1;
    print('Interrupt signal (2) received.');
    if (count === 1) {
      print('Waiting for in-flight inferences to complete.');
      return;
    }
    print('Exiting immediately...');
    // Load threads only hold sockets: nothing native is running that an abrupt end could break.
    process.exit(0);
  };
  process.on('SIGINT', onInterrupt);
  return {
    requested: () => count > 0,
    end: () => {
      process.off('SIGINT', onInterrupt);
    },
  };
}
