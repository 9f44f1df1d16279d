import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

let found: readonly number[] | undefined;

/**
 * Ids of the GPUs on which onnxruntime can run: NVIDIA's driver has to be there and the package's CUDA provider, which
 * is not part of a plain installation. Empty on most machines.
 */
export function usableGpus(): readonly number[] {
  found ??= hasCudaProvider() ? driverGpus() : [];
  return found;
}

function hasCudaProvider(): boolean {
  const package_ = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
  const folder = path.join(path.dirname(package_), 'bin', 'napi-v6', process.platform, process.arch);
  return existsSync(path.join(folder, 'libonnxruntime_providers_cuda.so'));
}

function driverGpus(): number[] {
  try {
    return readdirSync('/proc/driver/nvidia/gpus').map((_, index) => index);
  } catch {
    return [];
  }
}
