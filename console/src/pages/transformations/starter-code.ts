/** Where somebody who writes a transformation begins. */
export const starterCode = `// Called with every event. Return the event to keep it, null to drop it.
export function processEvent(event, { config }) {
  if (event.properties.plan === 'test') return null;
  event.properties.greeting = config.greeting;
  return event;
}
`;

const starterSettings = [
  {
    key: 'greeting',
    name: 'Greeting',
    type: 'string',
    default: 'hello',
    hint: 'Written into every event.',
  },
];

/** The settings that the code asks for, as in `plugin.json`. */
export const starterSchema = `${JSON.stringify(starterSettings, null, 2)}\n`;

/** The files of a plugin of one file. @throws SyntaxError when the settings are no JSON */
export function pluginFiles(name: string, code: string, schema: string): Readonly<Record<string, string>> {
  const config: unknown = schema.trim() === '' ? [] : JSON.parse(schema);
  return { 'plugin.json': JSON.stringify({ name, config }, null, 2), 'index.ts': code };
}
