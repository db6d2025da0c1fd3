/** Longer than the mark at the end of any event: the id of a run has 100 characters at most. */
const tailBytes = 200;

/**
 * SQL of the run that stored an event, empty for none: `$import_run_id` of its properties. Imported events end with it, and from
 * there it is read as text: the engine's JSON functions find nothing in properties that hold a number beyond a double (1e400).
 */
export const runIdSql = `if(endsWith(properties, '"}') AND extract(${tail()}, ${marked()}) != '',
  extract(${tail()}, ${marked()}), JSONExtractString(properties, '$import_run_id'))`;

function tail(): string {
  return `substring(properties, greatest(1, length(properties) - ${tailBytes}))`;
}

/** No quote within the id and a comma before the name: nothing but the last member looks like it. */
function marked(): string {
  return `',"[$]import_run_id":"([^"]+)"[}]$'`;
}
