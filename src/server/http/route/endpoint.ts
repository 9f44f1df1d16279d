import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import type { RestrictedCategory } from '../../options/restrictions.js';
import type { OperationSpec } from '../openapi/operation.js';

/** A path that is known. Names stand as sent: nothing is percent-decoded. */
export interface HttpRoute {
  readonly endpoint: HttpEndpoint;
  /** Name of the model; '' where the path has none. */
  readonly model: string;
  /** Digits, '' without a version. */
  readonly version: string;
  /** Name of the repository; undefined where the path has none. */
  readonly repository: string | undefined;
  /** Name of the shared memory region; '' where the path has none. */
  readonly region: string;
}

/** Responds to one request. Throws a TritonError for a response of the endpoint's error type. */
export type HttpHandler = (context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply) => void;

/** A method that is served and does not stand in the OpenAPI document. */
export const UNDOCUMENTED = 'undocumented';

/** One line of the table of endpoints. */
export interface HttpEndpoint {
  /**
   * The path. `{model}`, `{repository}` and `{region}` stand for a segment that is not empty, `{version}` for one of digits.
   */
  readonly path: string;
  /** What `--http-restricted-api` calls it. */
  readonly category: RestrictedCategory;
  /** Content type of errors. */
  readonly errors: 'text/plain' | 'application/json';
  readonly handler: HttpHandler;
  /** The methods that are served; one of them at least. */
  readonly get?: OperationSpec | typeof UNDOCUMENTED;
  readonly post?: OperationSpec | typeof UNDOCUMENTED;
}
