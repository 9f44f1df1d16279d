/** `[request id: 7] `: stands before most messages about a request. */
export function requestPrefix(id: string): string {
  return `[request id: ${id === '' ? '<id_unknown>' : id}] `;
}
