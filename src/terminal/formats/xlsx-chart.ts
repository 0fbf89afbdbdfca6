// The parts of a workbook that draw one bar chart beside the cells of a sheet (ECMA-376, DrawingML).

import { escapeMarkup } from '../markup.js';
import { columnLetters } from './xlsx-columns.js';

const DRAWING = 'http://schemas.openxmlformats.org/drawingml/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** The size of the chart in cells. */
const CHART_COLUMNS = 12;
const CHART_ROWS = 22;
const COLORS = ['1F6FEB', '1F9D55', 'D99A00', 'B44AC0'];

/** A bar chart of the rows of a sheet. Columns are counted from 1. */
export interface SheetChart {
  readonly title: string;
  /** The column with the names of the bars. */
  readonly categoryColumn: number;
  readonly series: readonly { readonly name: string; readonly column: number }[];
  /**
   * Hatched bars for times without data. No column of the sheet contains the values of these bars,
   * so the chart itself stores them.
   */
  readonly hatched: { readonly name: string; readonly values: readonly number[] };
}

/** The cell ranges from which the chart reads its values. */
export interface ChartPlace {
  readonly sheetName: string;
  readonly columnCount: number;
  readonly rowCount: number;
}

/** Returns the drawing that places the chart to the right of the cells. */
export function drawingXml({ columnCount }: ChartPlace): string {
  const from = columnCount + 1;
  const corner = (column: number, row: number) =>
    `<xdr:col>${column}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>${row}</xdr:row><xdr:rowOff>0</xdr:rowOff>`;
  return [
    `<xdr:wsDr xmlns:xdr="${DRAWING}/spreadsheetDrawing" xmlns:a="${DRAWING}/main"><xdr:twoCellAnchor>`,
    `<xdr:from>${corner(from, 1)}</xdr:from><xdr:to>${corner(from + CHART_COLUMNS, 1 + CHART_ROWS)}</xdr:to>`,
    '<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr><xdr:cNvPr id="2" name="Chart 1"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>',
    '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>',
    `<a:graphic><a:graphicData uri="${DRAWING}/chart"><c:chart xmlns:c="${DRAWING}/chart" xmlns:r="${OFFICE}" r:id="rId1"/></a:graphicData></a:graphic>`,
    '</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor></xdr:wsDr>',
  ].join('');
}

/**
 * Returns the chart. The bars refer to cells of the sheet. When the user changes these cells, the
 * chart changes too.
 */
export function chartXml(chart: SheetChart, place: ChartPlace): string {
  const name = `'${place.sheetName.replaceAll("'", "''")}'`;
  const rangeOf = (column: number) => {
    const letters = columnLetters(column);
    return escapeMarkup(`${name}!$${letters}$2:$${letters}$${place.rowCount + 1}`);
  };
  const categories = `<c:cat><c:strRef><c:f>${rangeOf(chart.categoryColumn)}</c:f></c:strRef></c:cat>`;
  const series = chart.series.map(
    (each, index) =>
      `<c:ser>${seriesName(index, each.name)}<c:spPr><a:solidFill><a:srgbClr val="${COLORS[index % COLORS.length]}"/></a:solidFill></c:spPr><c:invertIfNegative val="0"/>${categories}<c:val><c:numRef><c:f>${rangeOf(each.column)}</c:f></c:numRef></c:val></c:ser>`,
  );
  const { hatched } = chart;
  const points = hatched.values.map((value, index) =>
    value > 0 ? `<c:pt idx="${index}"><c:v>${value}</c:v></c:pt>` : '',
  );
  const pattern =
    '<a:pattFill prst="wdUpDiag"><a:fgClr><a:srgbClr val="7B8794"/></a:fgClr><a:bgClr><a:srgbClr val="FFFFFF"/></a:bgClr></a:pattFill>';
  const unseen = `<c:ser>${seriesName(series.length, hatched.name)}<c:spPr>${pattern}</c:spPr><c:invertIfNegative val="0"/>${categories}<c:val><c:numLit><c:formatCode>General</c:formatCode><c:ptCount val="${hatched.values.length}"/>${points.join('')}</c:numLit></c:val></c:ser>`;
  const title = `<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:r><a:rPr lang="en" sz="1400"/><a:t>${escapeMarkup(chart.title)}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`;
  return [
    `<c:chartSpace xmlns:c="${DRAWING}/chart" xmlns:a="${DRAWING}/main" xmlns:r="${OFFICE}"><c:chart>${title}`,
    '<c:autoTitleDeleted val="0"/><c:plotArea><c:layout/><c:barChart><c:barDir val="col"/><c:grouping val="stacked"/><c:varyColors val="0"/>',
    ...series,
    unseen,
    '<c:gapWidth val="40"/><c:overlap val="100"/><c:axId val="1"/><c:axId val="2"/></c:barChart>',
    axisXml('catAx', 1, 2, 'b'),
    axisXml('valAx', 2, 1, 'l'),
    '</c:plotArea><c:legend><c:legendPos val="b"/><c:overlay val="0"/></c:legend><c:plotVisOnly val="1"/><c:dispBlanksAs val="gap"/></c:chart></c:chartSpace>',
  ].join('');
}

function seriesName(index: number, name: string): string {
  return `<c:idx val="${index}"/><c:order val="${index}"/><c:tx><c:v>${escapeMarkup(name)}</c:v></c:tx>`;
}

function axisXml(kind: 'catAx' | 'valAx', id: number, crossing: number, side: string): string {
  const lines = kind === 'valAx' ? '<c:majorGridlines/>' : '';
  return `<c:${kind}><c:axId val="${id}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="${side}"/>${lines}<c:crossAx val="${crossing}"/><c:crosses val="autoZero"/></c:${kind}>`;
}
