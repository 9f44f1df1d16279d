import { invalidArg } from '../../../base/error.js';
import {
  LogSettingsRequest,
  LogSettingsResponse,
  type LogSettingsResponseValue,
} from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import { LOG_SWITCHES, LogSettingsStore } from '../../context/log-settings.js';
import type { ServerContext } from '../../context/server-context.js';
import { unaryMethod } from '../message/respond.js';

/** LogSettings: sets what is named, responds with all. */
export function logSettings({ logSettings: store }: ServerContext): GrpcMethod {
  return unaryMethod(LogSettingsRequest, LogSettingsResponse, ({ settings }) => {
    if (settings.has('log_file')) throw LogSettingsStore.fileRefused();
    for (const name of Object.keys(LOG_SWITCHES) as (keyof typeof LOG_SWITCHES)[]) {
      const value = settings.get(name);
      if (value === undefined) continue;
      if (value.bool_param === undefined) throw invalidArg(`expect boolean for '${name}'`);
      store.setSwitch(name, value.bool_param);
    }
    const level = settings.get('log_verbose_level');
    if (level !== undefined) {
      if (level.uint32_param === undefined) throw invalidArg("expect int32 for 'log_verbose_level'");
      store.setVerboseLevel(level.uint32_param);
    }
    const format = settings.get('log_format');
    if (format !== undefined) {
      if (format.string_param === undefined) throw invalidArg("expect string for 'log_format'");
      if (!store.setFormat(format.string_param)) {
        throw invalidArg(`invalid argument for log_format, got: ${format.string_param}`);
      }
    }
    return { settings: new Map(Object.entries(store.view()).map(([name, value]) => [name, settingOf(value)])) };
  });
}

function settingOf(value: string | boolean | number): LogSettingsResponseValue {
  return {
    bool_param: typeof value === 'boolean' ? value : undefined,
    uint32_param: typeof value === 'number' ? value : undefined,
    string_param: typeof value === 'string' ? value : undefined,
  };
}
