/** Messages of trace and log settings. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { type MessageOf, mapOfSub, message, oneof, repeatedScalar, scalar } from '../schema.js';

export const TraceSettingRequest = message('inference.TraceSettingRequest', {
  settings: mapOfSub(1, 'string', () => TraceSettingRequestValue),
  model_name: scalar(2, 'string'),
});
export type TraceSettingRequest = MessageOf<typeof TraceSettingRequest>;

export const TraceSettingRequestValue = message('inference.TraceSettingRequest.SettingValue', {
  value: repeatedScalar(1, 'string'),
});
export type TraceSettingRequestValue = MessageOf<typeof TraceSettingRequestValue>;

export const TraceSettingResponse = message('inference.TraceSettingResponse', {
  settings: mapOfSub(1, 'string', () => TraceSettingResponseValue),
});
export type TraceSettingResponse = MessageOf<typeof TraceSettingResponse>;

export const TraceSettingResponseValue = message('inference.TraceSettingResponse.SettingValue', {
  value: repeatedScalar(1, 'string'),
});
export type TraceSettingResponseValue = MessageOf<typeof TraceSettingResponseValue>;

export const LogSettingsRequest = message('inference.LogSettingsRequest', {
  settings: mapOfSub(1, 'string', () => LogSettingsRequestValue),
});
export type LogSettingsRequest = MessageOf<typeof LogSettingsRequest>;

export const LogSettingsRequestValue = message('inference.LogSettingsRequest.SettingValue', {
  bool_param: oneof('parameter_choice', scalar(1, 'bool')),
  uint32_param: oneof('parameter_choice', scalar(2, 'uint32')),
  string_param: oneof('parameter_choice', scalar(3, 'string')),
});
export type LogSettingsRequestValue = MessageOf<typeof LogSettingsRequestValue>;

export const LogSettingsResponse = message('inference.LogSettingsResponse', {
  settings: mapOfSub(1, 'string', () => LogSettingsResponseValue),
});
export type LogSettingsResponse = MessageOf<typeof LogSettingsResponse>;

export const LogSettingsResponseValue = message('inference.LogSettingsResponse.SettingValue', {
  bool_param: oneof('parameter_choice', scalar(1, 'bool')),
  uint32_param: oneof('parameter_choice', scalar(2, 'uint32')),
  string_param: oneof('parameter_choice', scalar(3, 'string')),
});
export type LogSettingsResponseValue = MessageOf<typeof LogSettingsResponseValue>;
