import { GrpcStatus } from '../../../protocol/error.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import type { RestrictedCategory, Restrictions } from '../../options/restrictions.js';

/** Registers what a stop has to do about the open streams of a method. */
export type OnStop = (stop: () => void) => void;

/** One line of the table of endpoints. */
export interface GrpcEndpoint {
  /** The method's name in `inference.GRPCInferenceService`, or the full path of a method of another service. */
  readonly method: string;
  /** What `--grpc-restricted-protocol` calls it. */
  readonly category: RestrictedCategory;
  /** Makes the method for one server. */
  readonly handler: (context: ServerContext, onStop: OnStop) => GrpcMethod;
}

/** The method behind the check of its restriction: calls without the header that the option names end with UNAVAILABLE. */
export function restricted(method: GrpcMethod, category: RestrictedCategory, restrictions: Restrictions): GrpcMethod {
  const rule = restrictions.get(category);
  if (rule === undefined) return method;
  const name = `triton-grpc-protocol-${rule.key}`;
  const refusal = `This protocol is restricted, expecting header '${name}'`;
  if (method.kind === 'unary') {
    return {
      kind: 'unary',
      handle(call, message) {
        if (call.metadata(name) === rule.value) method.handle(call, message);
        else call.finish(GrpcStatus.UNAVAILABLE, refusal);
      },
    };
  }
  return {
    kind: 'stream',
    open(call) {
      if (call.metadata(name) === rule.value) return method.open(call);
      call.finish(GrpcStatus.UNAVAILABLE, refusal);
      return { onMessage() {}, onHalfClose() {} };
    },
  };
}
