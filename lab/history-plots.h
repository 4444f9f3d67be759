/*
 * history-plots.h - the plots of a history's page: one for each series, its changes marked.
 */
#ifndef NL_HISTORY_PLOTS_H
#define NL_HISTORY_PLOTS_H

#include "report-html.h"

/* Plots of a lane's series: those that changed, then the others, folded away. */
void nl_history_plots(const struct nl_page *page, size_t lane);

#endif
