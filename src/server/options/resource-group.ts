import { checked, type OptionSpec, oneOf, option, positive, text, withoutEffect } from './option-spec.js';
import {
  BadOption,
  parseBool,
  parseFloating,
  parseGroupedSetting,
  parseInt32,
  parseInt64,
  parsePair,
} from './parse-value.js';

const DEVICES = 'Memory/Device Management';

const NO_AGENTS = 'repository agents are native libraries, which cannot be loaded here; messages name this directory';
const GPU_MEMORY = 'ONNX Runtime manages the memory of GPUs by itself; fewer instances need less of it';
const PINNED_MEMORY = 'there is no such pool; the start-up table and the metrics show the size';
const COMPUTE_CAPABILITY = 'ONNX Runtime checks the GPU; the start-up table shows the value';
const HOST_POLICY = 'the system places threads; bind the whole server with taskset or numactl';

const BACKENDS: OptionSpec[] = [
  option(
    'Backend',
    'backend-directory',
    'string',
    text,
    (d, v) => (d.backendDirectory = v),
    'Directory of backends that are Python models: NAME/model.py serves models with the backend NAME. Default /opt/tritonserver/backends.',
  ),
  {
    group: 'Backend',
    name: 'backend-config',
    argument: '<string>,<string>=<string>',
    help: '[BACKEND,]SETTING=VALUE: a setting of one backend or of all. May be given several times.',
    apply(value, { draft }) {
      const [backend, key, wanted] = parseGroupedSetting(value, {
        noGroup:
          'No backend specified. --backend-config option format is <backend name>,<setting>=<value> or ' +
          '<setting>=<value>. Got ',
        format: "--backend-config option format is '<backend name>,<setting>=<value>'. Got ",
        groupRequired: false,
      });
      draft.backendConfig.push({ backend, key, value: wanted });
    },
  },
  {
    ...option(
      'Repository Agent',
      'repoagent-directory',
      'string',
      text,
      (d, v) => (d.repoagentDirectory = v),
      withoutEffect(NO_AGENTS),
    ),
    note: NO_AGENTS,
  },
  {
    group: 'Response Cache',
    name: 'cache-config',
    argument: '<string>,<string>=<string>',
    help: 'CACHE,SETTING=VALUE: the response cache. The only cache is local, its setting size=BYTES. Default: none.',
    apply(value, { draft }) {
      const [cache, key, wanted] = parseGroupedSetting(value, {
        noGroup: 'No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got ',
        format: "--cache-config option format is '<cache name>,<setting>=<value>'. Got ",
        groupRequired: true,
      });
      draft.cacheConfig = [...draft.cacheConfig, { cache, key, value: wanted }];
    },
  },
  option(
    'Response Cache',
    'cache-directory',
    'string',
    text,
    (d, v) => (d.cacheDirectory = v),
    'Named in messages about caches.',
  ),
];

const RATE_FORMAT =
  "--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ";

const RATE_LIMIT: OptionSpec[] = [
  option(
    'Rate Limiter',
    'rate-limit',
    'string',
    oneOf(['execution_count', 'off'], 'invalid argument for --rate-limit', true),
    (d, v) => (d.rateLimit = v === 'execution_count'),
    'execution_count: executions compete for the resources that models ask for. off: they do not. Default off.',
  ),
  {
    group: 'Rate Limiter',
    name: 'rate-limit-resource',
    argument: '<string>:<integer>:<integer>',
    help: 'NAME:COUNT[:DEVICE]: a resource of the rate limiter. May be given several times.',
    apply(value, { draft }) {
      const [name = '', count, device, more] = value.split(':');
      if (count === undefined || more !== undefined) throw new BadOption(RATE_FORMAT + value);
      const resource = { name, count: parseInt32(count), device: device === undefined ? -1 : parseInt32(device) };
      draft.rateLimitResources = [...draft.rateLimitResources, resource];
    },
  },
];

const HOST_FORMAT = "--host-policy option format is '<policy name>,<setting>=<value>'. Got ";

const MEMORY: OptionSpec[] = [
  {
    ...option(
      DEVICES,
      'pinned-memory-pool-byte-size',
      'integer',
      parseInt64,
      (d, v) => (d.pinnedMemoryPoolBytes = v),
      withoutEffect(PINNED_MEMORY),
    ),
    note: PINNED_MEMORY,
  },
  checked(
    DEVICES,
    'cuda-memory-pool-byte-size',
    '<integer>:<integer>',
    (v) => parsePair(v, ':').map(parseInt64),
    GPU_MEMORY,
  ),
  checked(
    DEVICES,
    'cuda-virtual-address-size',
    '<integer>:<integer>',
    (v) => parsePair(v, ':').map(parseInt64),
    GPU_MEMORY,
  ),
  {
    ...option(
      DEVICES,
      'min-supported-compute-capability',
      'float',
      parseFloating,
      (d, v) => (d.minComputeCapability = v),
      withoutEffect(COMPUTE_CAPABILITY),
    ),
    note: COMPUTE_CAPABILITY,
  },
  checked(DEVICES, 'buffer-manager-thread-count', 'integer', parseInt32, 'tensors are not copied by a buffer manager'),
  {
    group: DEVICES,
    name: 'host-policy',
    argument: '<string>,<string>=<string>',
    help: `POLICY,SETTING=VALUE with numa-node or cpu-cores. ${withoutEffect(HOST_POLICY)}`,
    note: HOST_POLICY,
    apply(value, state) {
      const [, setting] = parseGroupedSetting(value, {
        noGroup: HOST_FORMAT,
        format: HOST_FORMAT,
        groupRequired: true,
      });
      if (setting !== 'numa-node' && setting !== 'cpu-cores') {
        state.late.push(
          `setting host policy: Unsupported - Unsupported host policy setting '${setting}' is specified, supported ` +
            "settings are 'numa-node', 'cpu-cores'",
        );
      }
    },
  },
  {
    group: DEVICES,
    name: 'model-load-gpu-limit',
    argument: '<device_id>:<fraction>',
    help: withoutEffect(GPU_MEMORY),
    note: GPU_MEMORY,
    apply(value, state) {
      const [first, second] = parsePair(value, ':');
      const [device, fraction] = [parseInt32(first), parseFloating(second)];
      const what = 'setting model load GPU limit: Invalid argument -';
      if (device < 0) state.late.push(`${what} expects device ID >= 0, got ${device}`);
      else if (!(fraction >= 0 && fraction <= 1)) {
        state.late.push(`${what} expects limit fraction to be in range [0.0, 1.0], got ${fraction.toFixed(6)}`);
      }
    },
  },
];

const SHARED_MEMORY: OptionSpec[] = [
  option(
    'Shared Memory',
    'allow-client-shm',
    'boolean',
    parseBool,
    (d, v) => (d.allowClientSharedMemory = v),
    'Let clients register shared memory. Default false.',
  ),
  option(
    'Shared Memory',
    'client-shm-region-limit',
    'integer',
    (value) => positive(value, '--client-shm-region-limit must be greater than 0'),
    (d, v) => (d.sharedMemoryRegionLimit = v),
    'Shared memory regions that clients may register at a time. Default 16384.',
  ),
];

/** Options of backends, cache, rate limiter, memory and devices. */
export const RESOURCE_OPTIONS: readonly OptionSpec[] = [...BACKENDS, ...RATE_LIMIT, ...MEMORY, ...SHARED_MEMORY];
