import type { Attack } from './attack.js';
import { GRPC_ATTACKS } from './attacks/grpc.js';
import { HTTP1_ATTACKS } from './attacks/http1.js';
import { HTTP2_ATTACKS } from './attacks/http2.js';
import { JSON_ATTACKS } from './attacks/json.js';

/** Every attack that is known. */
export const ATTACKS: readonly Attack[] = [...HTTP2_ATTACKS, ...GRPC_ATTACKS, ...HTTP1_ATTACKS, ...JSON_ATTACKS];
