/** Media types as cards and messages name them. */

/** Whether one of `modes` covers the type; parameters and case do not count, `*` stands for anything. */
export function matchesMediaType(mediaType: string, modes: readonly string[]): boolean {
  const [type, subtype] = split(mediaType);
  return modes.some((mode) => {
    const [modeType, modeSubtype] = split(mode);
    return (modeType === "*" || modeType === type) && (modeSubtype === "*" || modeSubtype === subtype);
  });
}

function split(mediaType: string): [string, string] {
  const essence = mediaType.split(";")[0] ?? "";
  const [type = "", subtype = ""] = essence.trim().toLowerCase().split("/");
  return [type, subtype];
}
