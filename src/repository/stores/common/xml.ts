/** XML responses, as two of the stores send them. */
import { parseXml, XmlElement } from '@rgrove/parse-xml';

/** The root element of a document. Throws for what is none. */
export function readXml(text: string): XmlElement {
  const { root } = parseXml(text.replace(/^\uFEFF/, ''));
  if (root === null) throw new Error('an empty XML document');
  return root;
}

/** Child elements of a name. */
export function children(parent: XmlElement | undefined, name: string): XmlElement[] {
  return (parent?.children ?? []).filter(
    (each): each is XmlElement => each instanceof XmlElement && each.name === name,
  );
}

/** Text of the first child of a name; '' when there is none. */
export function childText(parent: XmlElement | undefined, name: string): string {
  return children(parent, name)[0]?.text ?? '';
}
