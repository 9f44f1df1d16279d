import { text } from '../../base/options/parse-value.js';
import { integerPair, parseBool, parseInt32 } from './parse-value.js';
import { checked, option, type ServerOption } from './server-option.js';

const NO_SAGEMAKER = 'this server has no endpoint for SageMaker';
const NO_VERTEX = 'this server has no endpoint for Vertex AI';

/** Options of the endpoints for SageMaker and Vertex AI, which this server does not have: false and settings are taken. */
export const OTHER_ENDPOINTS: readonly ServerOption[] = [
  absentEndpoint(
    'allow-sagemaker',
    'Sagemaker',
    'put a proxy in front that maps /ping to /v2/health/ready and /invocations to /v2/models/MODEL/infer',
  ),
  checked({
    name: 'sagemaker-port',
    group: 'Sagemaker',
    argument: 'integer',
    parse: parseInt32,
    note: NO_SAGEMAKER,
  }),
  checked({
    name: 'sagemaker-safe-port-range',
    group: 'Sagemaker',
    argument: '<integer>-<integer>',
    parse: integerPair('-', parseInt32),
    note: NO_SAGEMAKER,
  }),
  checked({
    name: 'sagemaker-thread-count',
    group: 'Sagemaker',
    argument: 'integer',
    parse: parseInt32,
    note: NO_SAGEMAKER,
  }),
  absentEndpoint(
    'allow-vertex-ai',
    'Vertex',
    'give Vertex AI the routes /v2/health/ready and /v2/models/MODEL/infer of the HTTP port',
  ),
  checked({ name: 'vertex-ai-port', group: 'Vertex', argument: 'integer', parse: parseInt32, note: NO_VERTEX }),
  checked({ name: 'vertex-ai-thread-count', group: 'Vertex', argument: 'integer', parse: parseInt32, note: NO_VERTEX }),
  checked({ name: 'vertex-ai-default-model', group: 'Vertex', argument: 'string', parse: text, note: NO_VERTEX }),
];

function absentEndpoint(name: string, group: string, instead: string): ServerOption {
  return option({
    name,
    group,
    argument: 'boolean',
    help: 'Not available in this server: only false is accepted.',
    parse: parseBool,
    set(state, wanted, { value }) {
      if (wanted) state.unsupported.push(`--${name}=${value}: this server has no such endpoint; ${instead}`);
    },
  });
}
