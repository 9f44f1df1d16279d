/**
 * Source files of the original that log the same steps as files of ours. People filter logs by these names, so records
 * carry them; the line numbers are those of our files.
 */
export const SOURCE_NAMES: Readonly<Record<string, string>> = {
  'load-version.js': 'backend_model.cc',
  'model-instances.js': 'backend_model.cc',
  'model-lifecycle.js': 'model_lifecycle.cc',
  'model-manager.js': 'model_repository_manager.cc',
  'model-poller.js': 'model_repository_manager.cc',
  'repositories.js': 'model_repository_manager.cc',
  'modification-times.js': 'model_repository_manager.cc',
  'model-graph.js': 'model_repository_manager.cc',
  'load-ensemble.js': 'ensemble_scheduler.cc',
  'request-log.js': 'infer_request.cc',
  'response-log.js': 'infer_response.cc',
  'verbose-buffers.js': 'http_server.cc',
  'stop.js': 'server.cc',
  'server.js': 'server.cc',
  'startup-tables.js': 'server.cc',
  'shutdown.js': 'http_server.cc',
  'serve-http.js': 'http_server.cc',
  'serve-grpc.js': 'grpc_server.cc',
};
