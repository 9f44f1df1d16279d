import type { OnnxModel } from '../../../onnx/onnx-file.js';
import type { SessionInfo } from './open-session.js';
import { withSessionShapes } from './session-shapes.js';

/** The file's header with types and shapes as a session knows them. */
export function mergeSessionInfo(header: OnnxModel, info: SessionInfo): OnnxModel {
  return withSessionShapes(header, info.inputs, info.outputs);
}
