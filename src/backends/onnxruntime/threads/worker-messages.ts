/** What the main thread and the threads of onnxruntime say to each other. */

import type { ErrorCodeName } from '../../../base/error.js';
import type { ExecutionTimes } from '../../../contract/backend.js';
import type { Tensor } from '../../../protocol/tensor.js';
import type { OpenRequest, SessionInfo } from '../session/open-session.js';

/** To a thread. Sessions are numbered by the main thread. `close`: end after what was sent before. */
export type ToThread =
  | { readonly kind: 'open'; readonly id: number; readonly session: number; readonly open: OpenRequest }
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly session: number;
      readonly inputs: readonly Tensor[];
      readonly outputs: readonly string[];
    }
  | { readonly kind: 'dispose'; readonly session: number }
  | { readonly kind: 'close' };

/** From a thread. `ready`: the runtime is loaded, what comes next begins at once. */
export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'opened'; readonly id: number; readonly info: SessionInfo }
  | { readonly kind: 'ran'; readonly id: number; readonly outputs: readonly Tensor[]; readonly times: ExecutionTimes }
  | { readonly kind: 'failed'; readonly id: number; readonly code: ErrorCodeName; readonly message: string };
