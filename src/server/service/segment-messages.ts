import { segment } from '../../imports/formats/segment/segment.ts';
import type { MessageReader } from '../../wire/capture/segment-messages.ts';

/** Creates a reader that converts messages as an import of their archive does, and skips repeated ones as Segment does. */
export function createMessageReader(): MessageReader {
  return segment.createReader({ duplicates: 'drop' }, segment.names);
}
