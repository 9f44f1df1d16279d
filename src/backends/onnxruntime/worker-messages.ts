/** What the main thread and the threads of onnxruntime say to each other. */
import type { ErrorCodeName } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { ExecutionTimes } from '../backend.js';
import type { OpenRequest, SessionInfo } from './open-session.js';

/** To a session's thread. `close`: end after what was sent before. */
export type ToSession =
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly inputs: readonly Tensor[];
      readonly outputs: readonly string[];
    }
  | { readonly kind: 'close' };

/** From a session's thread. */
export type FromSession =
  | { readonly kind: 'opened'; readonly info: SessionInfo }
  | { readonly kind: 'refused'; readonly code: ErrorCodeName; readonly message: string }
  | { readonly kind: 'ran'; readonly id: number; readonly outputs: readonly Tensor[]; readonly times: ExecutionTimes }
  | { readonly kind: 'failed'; readonly id: number; readonly code: ErrorCodeName; readonly message: string };

/** To the probe's thread. `rows`: batch sizes to measure, empty = do not run; 0 stands for a model that does not batch. */
export type ToProbe =
  | { readonly kind: 'probe'; readonly id: number; readonly open: OpenRequest; readonly rows: readonly number[] }
  | { readonly kind: 'close' };

/** From the probe's thread. `runNs`: the slowest of the measured batches, undefined when the model would not run. */
export type FromProbe =
  | { readonly kind: 'probed'; readonly id: number; readonly info: SessionInfo; readonly runNs: number | undefined }
  | { readonly kind: 'refused'; readonly id: number; readonly code: ErrorCodeName; readonly message: string };
