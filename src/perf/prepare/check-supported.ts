import { statSync } from 'node:fs';
import { PerfError, startUpError } from '../error/perf-error.js';
import { readFile } from '../input/read-json-data.js';
import type { PerfOptions } from '../options/perf-options.js';

/** Refuses kinds of servers and of runs that this program does not know, one clear line each. */
export function checkSupportedKind(options: PerfOptions): void {
  if (options.connection.enableMpi) {
    throw new PerfError(
      "error: --enable-mpi is not supported by triton perf: Unable to load MPI library. If you are trying to run with MPI / multiple models, check that 'libmpi.so' is on `LD_LIBRARY_PATH` environment variable path.",
    );
  }
  checkKind(options);
}

/** Refuses features that this program does not have; asked once the server is known to be there. */
export function checkSupportedFeatures(options: PerfOptions, warn: (line: string) => void): void {
  if (options.connection.serviceKind !== 'triton') throw unsupportedKind(options);
  if (options.report.verbosity > 1) {
    warn('triton perf: -v was given twice, but the messages on the wire are not shown; going on as with one -v.');
  }
}

function checkKind(options: PerfOptions): void {
  switch (options.connection.serviceKind) {
    case 'triton':
      return;
    case 'triton_c_api': {
      const directory = options.connection.tritonServerDirectory;
      if (statSync(directory, { throwIfNoEntry: false }) === undefined) {
        throw startUpError('failed to create triton client backend', `Unable to find filepath: ${directory}`);
      }
      break;
    }
    case 'openai':
      if (options.connection.protocol === 'grpc') {
        throw startUpError(
          'failed to create triton client backend',
          'perf_analyzer does not support gRPC protocol with OpenAI endpoints',
        );
      }
      checkInputFiles(options);
      break;
    case 'tfserving':
      // Reported once it is known that there is a server at all.
      return;
    default:
      checkInputFiles(options);
  }
  throw unsupportedKind(options);
}

function unsupportedKind({ connection: { serviceKind } }: PerfOptions): PerfError {
  return new PerfError(
    `error: --service-kind ${serviceKind} is not supported by this version of triton perf. Use --service-kind triton.`,
  );
}

/** Faults of the input files are reported first: they would be there with any service kind. */
function checkInputFiles(options: PerfOptions): void {
  for (const path of options.input.inputPaths) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) readFile(path);
  }
}
