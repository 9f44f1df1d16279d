import { invalidArg } from '../../../base/error.js';
import { TraceSettingRequest, TraceSettingResponse } from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { checkModelOfSettings, NUMBER_SETTINGS } from '../../trace/settings-request.js';
import { TraceSettings, type TraceUpdate } from '../../trace/trace-settings.js';
import { unaryMethod } from '../message/respond.js';

/** TraceSetting: sets what is named (an empty list clears), responds with all. */
export function traceSetting({ engine, tracer }: ServerContext): GrpcMethod {
  return unaryMethod(TraceSettingRequest, TraceSettingResponse, ({ settings, model_name }) => {
    checkModelOfSettings(engine, model_name);
    if (settings.has('trace_file')) throw TraceSettings.fileRefused();
    const update: TraceUpdate = {};
    const level = settings.get('trace_level')?.value;
    if (level !== undefined) update.trace_level = level.length === 0 ? null : level;
    for (const name of NUMBER_SETTINGS) {
      const values = settings.get(name)?.value;
      if (values === undefined) continue;
      if (values.length > 1) throw invalidArg(`expect only 1 value for '${name}'`);
      update[name] = values[0] ?? null;
    }
    tracer.settings.update(model_name, update, 'grpc');
    return {
      settings: new Map(
        tracer.settings
          .view(model_name)
          .map(([name, value]) => [name, { value: typeof value === 'string' ? [value] : [...value] }]),
      ),
    };
  });
}
