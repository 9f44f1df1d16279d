/** NVIDIA's driver, its GPUs, and the CUDA libraries that ONNX Runtime's CUDA provider is linked with. */
import path from 'node:path';
import type { Check } from './check.js';
import { findProgram, type Host, namesIn, placeOn, realFile, runProgram, textOf } from './host.js';

/** Oldest driver for CUDA 12 (minor version compatibility). */
const OLDEST_DRIVER = 525;

const QUERY = ['name', 'memory.total', 'driver_version', 'compute_cap'] as const;

/** One GPU as nvidia-smi reports it. */
export interface Gpu {
  readonly name: string;
  readonly memory: string;
  readonly computeCapability: string;
}

/** The driver, and the GPUs that it shows. */
export async function checkNvidia(host: Host): Promise<Check> {
  const base = { id: 'nvidia', title: 'NVIDIA GPU' };
  const kernel = /Kernel Module\s+(?:for \S+\s+)?([\d.]+)/.exec(textOf(host, '/proc/driver/nvidia/version') ?? '')?.[1];
  const tool = findProgram(host, 'nvidia-smi');
  const asked =
    tool === undefined
      ? undefined
      : await runProgram(host, tool, [`--query-gpu=${QUERY.join()}`, '--format=csv,noheader']);
  const rows = asked?.status === 0 ? asked.out.trim().split('\n').filter(Boolean) : [];
  const gpus = rows.map((row): Gpu => {
    const [name = '', memory = '', , computeCapability = ''] = row.split(',').map((text) => text.trim());
    return { name, memory, computeCapability };
  });
  const driver = kernel ?? rows[0]?.split(',')[2]?.trim();
  const facts = { driver: driver ?? null, gpus };
  if (driver === undefined && gpus.length === 0) {
    const hardware = hasNvidiaHardware(host);
    const found = [hardware ? 'an NVIDIA device is on the bus, but its driver is not loaded' : 'no NVIDIA driver'];
    if (asked !== undefined)
      found.push(`nvidia-smi: ${firstLine(asked.out) || firstLine(asked.complaint) || `exit status ${asked.status}`}`);
    const remedy = hardware
      ? 'Install the driver (apt-get install nvidia-driver-550), and start again.'
      : 'For a GPU: install its driver; a container must be started with --gpus all and the NVIDIA Container Toolkit.';
    return { ...base, status: 'missing', found, facts, follows: 'models run on the CPU', remedy };
  }
  const found = [`driver ${driver ?? 'of an unknown version'}`];
  found.push(
    ...gpus.map(
      ({ name, memory, computeCapability }, i) =>
        `GPU ${i}: ${name}, ${memory}, compute capability ${computeCapability}`,
    ),
  );
  if (gpus.length === 0) {
    found.push(
      asked === undefined
        ? 'nvidia-smi is not in PATH'
        : `nvidia-smi: ${firstLine(asked.out) || firstLine(asked.complaint)}`,
    );
    const devices = namesIn(host, '/dev').filter((name) => /^nvidia\d+$/.test(name));
    const remedy =
      devices.length === 0
        ? 'The driver is there, but no device: start the container with --gpus all.'
        : 'nvidia-smi does not answer: does the version of its libraries fit the loaded driver? Restart after an update.';
    return { ...base, status: 'warning', found, facts, follows: 'models run on the CPU', remedy };
  }
  if (Number.parseInt(driver ?? '', 10) < OLDEST_DRIVER) {
    const follows = `CUDA 12 needs driver ${OLDEST_DRIVER} or newer: models run on the CPU`;
    return { ...base, status: 'warning', found, facts, follows, remedy: `Install driver ${OLDEST_DRIVER} or newer.` };
  }
  return {
    ...base,
    status: 'ok',
    found,
    facts,
    follows: `${gpus.length === 1 ? 'the GPU' : 'the GPUs'} can be used if CUDA's libraries are there too`,
  };
}

const NVIDIA_VENDOR = '0x10de';

function hasNvidiaHardware(host: Host): boolean {
  const devices = '/sys/bus/pci/devices';
  return namesIn(host, devices).some((name) => {
    if (textOf(host, `${devices}/${name}/vendor`)?.trim() !== NVIDIA_VENDOR) return false;
    // Classes 03xxxx are displays and 3D controllers; network cards of the same vendor are none.
    return textOf(host, `${devices}/${name}/class`)?.startsWith('0x03') ?? false;
  });
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

/** Libraries that the CUDA provider of this runtime needs: CUDA 12 and cuDNN 9. */
const LIBRARIES = [
  { name: 'libcuda.so.1', what: 'the driver' },
  { name: 'libcudart.so.12', what: 'CUDA runtime' },
  { name: 'libcublas.so.12', what: 'cuBLAS' },
  { name: 'libcublasLt.so.12', what: 'cuBLASLt' },
  { name: 'libcufft.so.11', what: 'cuFFT' },
  { name: 'libcurand.so.10', what: 'cuRAND' },
  { name: 'libcudnn.so.9', what: 'cuDNN' },
] as const;

const USUAL_FOLDERS = [
  '/usr/local/cuda/lib64',
  '/usr/local/cuda/targets/x86_64-linux/lib',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib64',
  '/usr/lib/wsl/lib',
  '/lib/x86_64-linux-gnu',
];

/** Which of the CUDA libraries the loader would find, in which versions, and whether the provider itself is there. */
export async function checkCudaLibraries(host: Host, gpuFound: boolean, providerInstalled: boolean): Promise<Check> {
  const base = { id: 'cuda-libraries', title: 'CUDA libraries' };
  const cached = await loaderCache(host);
  const rows = LIBRARIES.map(({ name, what }) => ({ name, what, ...locate(host, name, cached) }));
  const missing = rows.filter(({ file }) => file === undefined);
  const other = otherVersions(
    host,
    missing.map(({ name }) => name),
  );
  const found = rows.map(({ name, what, file, version }) =>
    file === undefined
      ? `${name} (${what}): missing${beside(name, other.get(name))}`
      : `${name} (${what}): ${version === undefined ? '' : `${version}, `}${file}`,
  );
  found.push(`CUDA provider of ONNX Runtime: ${providerInstalled ? 'installed' : 'not installed'}`);
  const facts = {
    libraries: Object.fromEntries(
      rows.map(({ name, file, version }) => [name, file === undefined ? null : { file, version: version ?? null }]),
    ),
    provider: providerInstalled,
  };
  if (!gpuFound) {
    return { ...base, status: 'ok', found, facts, follows: 'they are of no use without a GPU' };
  }
  if (missing.length === 0 && providerInstalled) {
    return { ...base, status: 'ok', found, facts, follows: 'ONNX models can run on the GPU' };
  }
  const steps: string[] = [];
  const names = missing.map(({ name }) => name);
  if (names.some((name) => name !== 'libcudnn.so.9' && name !== 'libcuda.so.1'))
    steps.push('CUDA 12 (apt-get install cuda-libraries-12-4)');
  if (names.includes('libcudnn.so.9')) steps.push('cuDNN 9 for CUDA 12 (apt-get install libcudnn9-cuda-12)');
  if (names.includes('libcuda.so.1'))
    steps.push("the driver's libraries (in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility)");
  if (!providerInstalled)
    steps.push('the CUDA provider (ONNXRUNTIME_NODE_INSTALL=cuda12 npm rebuild onnxruntime-node)');
  const path_ =
    names.length > 0 ? '; libraries in other places are found when LD_LIBRARY_PATH names their directories' : '';
  const follows = 'models run on the CPU although there is a GPU';
  return { ...base, status: 'warning', found, facts, follows, remedy: `Install ${steps.join(', and ')}${path_}.` };
}

function beside(name: string, other: string | undefined): string {
  if (other === undefined) return '';
  return other === name ? '; its link leads nowhere' : `; there is ${other}`;
}

/** What the loader has in its cache: file by name. Empty without ldconfig. */
async function loaderCache(host: Host): Promise<ReadonlyMap<string, string>> {
  const tool =
    ['/sbin/ldconfig', '/usr/sbin/ldconfig'].map((file) => placeOn(host, file)).find((file) => realFile(file)) ??
    findProgram(host, 'ldconfig');
  if (tool === undefined) return new Map();
  const { out } = await runProgram(host, tool, ['-p']);
  const entries = [...out.matchAll(/^\s+(\S+) \(.*\) => (\S+)$/gm)].map(
    ([, name = '', file = '']) => [name, file] as const,
  );
  return new Map(entries.reverse());
}

function foldersOf(host: Host): string[] {
  const named = (host.env['LD_LIBRARY_PATH'] ?? '').split(':').filter((folder) => folder !== '');
  const versions = namesIn(host, '/usr/local').filter((name) => /^cuda-12/.test(name));
  const installed = versions.map((name) => placeOn(host, `/usr/local/${name}/lib64`));
  return [...named, ...USUAL_FOLDERS.map((folder) => placeOn(host, folder)), ...installed];
}

function locate(host: Host, name: string, cached: ReadonlyMap<string, string>): { file?: string; version?: string } {
  const named = (host.env['LD_LIBRARY_PATH'] ?? '').split(':').filter((folder) => folder !== '');
  const places = [
    ...named.map((folder) => path.join(folder, name)),
    cached.get(name) ?? '',
    ...foldersOf(host).map((folder) => path.join(folder, name)),
  ];
  for (const file of places) {
    const real = file === '' ? undefined : realFile(file);
    if (real === undefined) continue;
    const version = /\.so\.([\d.]+)$/.exec(path.basename(real))?.[1];
    return { file, ...(version === undefined ? {} : { version }) };
  }
  return {};
}

/** Libraries of the same name in another version, which the provider does not take. */
function otherVersions(host: Host, names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const folder of foldersOf(host)) {
    for (const entry of namesIn({ ...host, root: '/' }, folder)) {
      for (const name of names) {
        const stem = name.replace(/\.so\..*$/, '.so.');
        if (entry.startsWith(stem) && !found.has(name)) found.set(name, entry);
      }
    }
  }
  return found;
}
