/**
 * Switches off the telemetry of onnxruntime-node, which is on by default: it would look up a host of its vendor, keep a
 * queue with a device id, model file names and error texts under the user's cache directory, and write a file per process
 * into the temporary directory. The library reads the variable when it is loaded, from the environment of the process,
 * which only the main thread can change (a worker thread's `process.env` is a copy). So importing this file is enough, but
 * it has to happen in the main thread, before any thread loads the binding. A value that the user has set stays.
 */
export const TELEMETRY_VARIABLE = 'ORT_DISABLE_TELEMETRY';

process.env[TELEMETRY_VARIABLE] ??= '1';
