import { statSync } from 'node:fs';
import { PerfError, startUpError } from '../error/perf-error.js';
import { readFile } from '../input/read-json-data.js';
import { unsupported } from '../options/option.js';
import type { PerfOptions } from '../options/perf-options.js';

/** Refuses kinds of servers and of runs that this program does not know, one clear line each. */
export function checkSupportedKind(options: PerfOptions): void {
  if (options.enableMpi) {
    throw new PerfError(
      "error: --enable-mpi is not supported by triton perf: Unable to load MPI library. If you are trying to run with MPI / multiple models, check that 'libmpi.so' is on `LD_LIBRARY_PATH` environment variable path.",
    );
  }
  checkKind(options);
}

/** Refuses features that this program does not have; asked once the server is known to be there. */
export function checkSupportedFeatures(options: PerfOptions, warn: (line: string) => void): void {
  if (options.serviceKind !== 'triton') throw unsupportedKind(options);
  if (options.verbosity > 1) {
    warn('triton perf: -v was given twice, but the messages on the wire are not shown; going on as with one -v.');
  }
}

function checkKind(options: PerfOptions): void {
  switch (options.serviceKind) {
    case 'triton':
      return;
    case 'triton_c_api': {
      const directory = options.tritonServerDirectory;
      if (statSync(directory, { throwIfNoEntry: false }) === undefined) {
        throw startUpError('failed to create triton client backend', `Unable to find filepath: ${directory}`);
      }
      break;
    }
    case 'openai':
      if (options.protocol === 'grpc') {
        throw startUpError(
          'failed to create triton client backend',
          'perf_analyzer does not support gRPC protocol with OpenAI endpoints',
        );
      }
      checkInputFiles(options);
      break;
    case 'tfserving':
      // Told once it is known that there is a server at all.
      return;
    default:
      checkInputFiles(options);
  }
  throw unsupportedKind(options);
}

function unsupportedKind({ serviceKind }: PerfOptions): PerfError {
  return unsupported(`--service-kind ${serviceKind}`, 'Use --service-kind triton.');
}

/** Faults of the input files are told first: they would be there with any service kind. */
function checkInputFiles(options: PerfOptions): void {
  for (const path of options.inputPaths) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) readFile(path);
  }
}
