import type { ClientOptions, InferenceServerClient } from './api/client.js';
import { checkClientOptions } from './core/check-options.js';

/**
 * A client of the given protocol. Loads only that transport's library, which is why it is asynchronous; it does not
 * connect: an unreachable server shows at the first call. Rejects with INVALID_ARG for wrong options.
 */
export async function createClient(
  options: ClientOptions & { readonly protocol: 'http' | 'grpc' },
): Promise<InferenceServerClient> {
  checkClientOptions(options);
  if (options.protocol === 'grpc') {
    const { createGrpcClient } = await import('./grpc/grpc-client.js');
    return createGrpcClient(options);
  }
  const { createHttpClient } = await import('./http/http-client.js');
  return createHttpClient(options);
}
