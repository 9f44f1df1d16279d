/**
 * Every message of the inference service and of `grpc.health.v1`, and the service's calls by full method path.
 */
export * from './infer-messages.js';
export * from './repository-messages.js';
export * from './server-messages.js';
export * from './settings-messages.js';
export * from './shared-memory-messages.js';
export * from './statistics-messages.js';

/** Path prefix of the service's calls: `/inference.GRPCInferenceService/<Rpc>`. */
export const SERVICE_PATH = '/inference.GRPCInferenceService/';

/** Path of the only call of the health service that exists. */
export const HEALTH_CHECK_PATH = '/grpc.health.v1.Health/Check';
