/** Codes of column types. https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html */
export const mysqlTypes = {
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  null: 6,
  timestamp: 7,
  longlong: 8,
  int24: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  bit: 16,
  json: 245,
  newdecimal: 246,
  geometry: 255,
} as const;

export const binaryCharset = 63;
